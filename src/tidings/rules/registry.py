"""The rules of a database: their records in the catalog, and the bound rules made from them.

A rule is stored as its text.  It is bound when rules are first needed after a definition has changed.  A rule that
cannot be bound is left out of judging, and its record says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tidings.compiled import CompiledPlans
from tidings.errors import InvalidRule, TidingsError, UnknownRule, closest
from tidings.ir.relation import Relation
from tidings.lang.sql import statement as sql
from tidings.lang.sql.rules.condition import activations_of
from tidings.rules.binding import RuleBinder
from tidings.rules.condition.shape import RuleShape, shapes
from tidings.rules.error_text import error_text
from tidings.rules.event.memory import EventMemory
from tidings.rules.rule import Rule
from tidings.store.rules.rule_store import RuleRecord, RuleStore


@dataclass(slots=True)
class RuleRegistry:
    """Knows the rules of one database."""

    store: RuleStore
    binder: RuleBinder
    compiled: CompiledPlans
    _records: list[RuleRecord] | None = field(init=False, default=None)
    _rules: dict[int, Rule] | None = field(init=False, default=None)
    _by_table: dict[str, list[Rule]] = field(init=False, default_factory=dict)
    _shapes: dict[int, RuleShape] | None = field(init=False, default=None)
    _bound: dict[tuple[int, str], Rule] = field(init=False)
    """Bound rules by number and text."""
    _proposals: dict[str, Rule] = field(init=False)
    """Rules that were asked about and are not defined, by their texts."""
    _shape_plans: dict[str, Relation | None] = field(init=False)
    """Bound queries of shapes, by the keys of their templates."""
    _proposed: int | None = field(init=False, default=None)
    """The number of the rule that the catalog does not have yet, if there is one."""

    def __post_init__(self) -> None:
        self._bound, self._proposals = self.compiled.section(), self.compiled.section()
        self._shape_plans = self.compiled.section()
        self.compiled.on_forget(self._forget_rules)

    # records

    @property
    def records(self) -> list[RuleRecord]:
        """The records of all rules, in the order they were created."""
        if self._records is None:
            self._records = self.store.rules() if self.store.storage.has_rule_tables else []
        return self._records

    @property
    def count(self) -> int:
        """How many rules there are, as far as it was read."""
        return len(self._records or ())

    def record(self, name: str) -> RuleRecord:
        """The record of a rule by its name."""
        record = self.find(name)
        if record is None:
            raise UnknownRule(None, closest(name, [r.name for r in self.records]), name=name)
        return record

    def find(self, name: str) -> RuleRecord | None:
        """The record of a rule by its name, or None if there is no such rule."""
        return next((r for r in self.records if r.name.lower() == name.lower()), None)

    def reload(self) -> None:
        """Read the records from the catalog when they are next needed."""
        self._records = self._rules = None

    def put(self, record: RuleRecord, rule: Rule | None = None) -> None:
        """Know a rule that the catalog has, perhaps in the place of one of the same number; it may be bound already."""
        others = [r for r in self.records if r.id != record.id]
        self._records, self._rules = sorted([*others, record], key=lambda r: r.id), None
        if rule is not None:
            self._bound[record.id, record.text] = rule

    @contextmanager
    def proposing(self, record: RuleRecord) -> Iterator[Rule]:
        """Know a rule inside that the catalog is to get, perhaps in the place of one of the same number.

        If that fails, everything is as the catalog has it.
        """
        if any(r.id == record.id for r in self.records):
            self.compiled.forget()
        self.put(record)
        self._proposed = record.id
        try:
            yield self.bind(record)
        except BaseException:
            self.compiled.forget()
            raise
        finally:
            self._proposed = None
            self.reload()

    def is_proposed(self, rule: Rule) -> bool:
        """Whether the catalog does not have a rule yet."""
        return rule.id == self._proposed

    def failing(self) -> set[int]:
        """The numbers of the rules that have an error."""
        return {r.id for r in self.records if r.error is not None}

    def set_error(self, id: int, error: Exception | None) -> None:
        """Record what is wrong with a rule, or that nothing is."""
        record = next((r for r in self.records if r.id == id), None)
        message = None if error is None else error_text(error)
        if record is None or record.error == message or self.store.storage.is_reader or id == self._proposed:
            return
        self.store.fail(id, message)
        self._records = [replace(r, error=message) if r.id == id else r for r in self.records]
        if message is not None:
            self.store.storage.rule_cursors.pop(id, None)

    def move_cursor(self, rule: Rule, until: int) -> None:
        """Note that a rule has been judged up to an instant, as the catalog has it already."""
        rule.record = replace(rule.record, until=until)
        self._records = [replace(r, until=until, error=None) if r.id == rule.id else r for r in self.records]
        self.store.storage.rule_cursors[rule.id] = until

    def remember(self, rule: Rule, memory: EventMemory) -> None:
        """Record what a rule remembers of its event."""
        if rule.record.remembered != memory.text:
            self.store.remember(rule.id, memory.text)
            rule.record = replace(rule.record, remembered=memory.text)
            self._records = [rule.record if r.id == rule.id else r for r in self.records]
        self.store.storage.event_cursors[rule.id] = memory.log_needed_from

    # bound rules

    def rules(self) -> list[Rule]:
        """All rules that can be bound; the others are marked as failing."""
        return list(self._bind_all().values())

    def touching(self, tables: Iterable[str]) -> list[Rule]:
        """The enabled rules that depend on or wait for some tables.  Rules of other tables cost nothing."""
        self._bind_all()
        return list({r.id: r for name in tables for r in self._by_table.get(name, ())}.values())

    def shapes(self) -> dict[int, RuleShape]:
        """The shapes of rules that differ only in constants, by the numbers of the rules."""
        rules = self._bind_all()
        if self._shapes is None:
            several = list(rules.values()) if len(rules) > 1 else []
            self._shapes = shapes(several, self.binder.relations, self.binder.analyzer, self._shape_plans)
        return self._shapes

    def bind(self, record: RuleRecord) -> Rule:
        """The rule of a record; it is bound once for as long as definitions stay."""
        key = record.id, record.text
        if key not in self._bound:
            self._bound[key] = self.binder.bind_record(record)
        self._bound[key].record = record
        return self._bound[key]

    def find_or_propose(self, text: str) -> Rule:
        """The rule of a name, or the rule that the text of a ``CREATE RULE`` would define."""
        if text in self._proposals:
            return self._proposals[text]
        record = self.find(text)
        if record is not None:
            self._bind_all()
            return self.bind(self.record(text))
        statements = sql.read(text) if len(text.split()) > 1 else []
        if len(statements) != 1 or not isinstance(statement := statements[0], sql.CreateRule):
            raise UnknownRule(None, closest(text, [r.name for r in self.records]), name=text)
        if statement.parameters and self.binder.relations.find(activations_of(statement.name)) is None:
            reason = "it has parameters, and no activations yet"
            raise InvalidRule(statement.place, name=statement.name, reason=reason)
        rule = self.binder.bind(RuleRecord(0, statement.name, statement.definition, True, 0, 0, 0), statement)
        return self._proposals.setdefault(text, rule)

    def _bind_all(self) -> dict[int, Rule]:
        if self._rules is None:
            self._rules, self._shapes = {}, None
            for record in self.records:
                try:
                    self._rules[record.id] = self.bind(record)
                except TidingsError as error:
                    self.set_error(record.id, error)
            sound = {r.id for r in self.records if r.enabled and r.error is None}
            detached = [r for r in self._rules.values() if r.condition_coupling == "detached" and r.id in sound]
            storage = self.store.storage
            storage.rule_cursors = {r.id: r.cursor for r in detached}
            storage.event_cursors = {r.id: _log_needed_from(r) for r in self._rules.values() if remembers(r)}
            self._by_table = {}
            for rule in [r for r in self._rules.values() if r.record.enabled]:
                for name in rule.influents | rule.event_tables:
                    self._by_table.setdefault(name, []).append(rule)
        return self._rules

    def _forget_rules(self) -> None:
        self._rules = None


def remembers(rule: Rule) -> bool:
    """Whether the event of a rule may take several transactions."""
    return rule.record.enabled and rule.event is not None and rule.new_detector().remembers


def _log_needed_from(rule: Rule) -> int:
    """The instant from which on the log is needed to detect a rule's event."""
    record = rule.record
    return record.began if record.remembered is None else EventMemory.read(record.remembered).log_needed_from

"""All rules of a database, and how they are put to work.

Rules are kept by their texts and bound when they are first needed after a definition has changed.  What a rule reads,
changes or waits for cannot be dropped or renamed while the rule is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlglot import exp

from tidings.analysis.influents import CLOCK, influents, reads
from tidings.constraints.evaluate import Evaluator
from tidings.errors import (
    DependentObjects,
    InvalidRule,
    TidingsError,
    UnknownRule,
    UnsupportedStatement,
    closest,
)
from tidings.ir.relation import Relation
from tidings.lang.sql import statement
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.event import And, Event, Or, TableEvent, Then
from tidings.lang.sql.statements.rule import CreateRule, Modify
from tidings.retry_policy import RetryPolicy
from tidings.rules.action import message_groups
from tidings.rules.action.run import Actions, what_is_wrong
from tidings.rules.agenda import BOUND, Agenda, Fired
from tidings.rules.condition.evaluate import activations_of, bound
from tidings.rules.condition.shape import RuleShape, shapes
from tidings.rules.coupling import RuleHook
from tidings.rules.event import occurrence
from tidings.rules.instance import tracking
from tidings.rules.rule import Rule, needs_order
from tidings.rules.silence import Silences
from tidings.store.relation.table import Table
from tidings.store.rules.rule_store import RuleRecord, RuleStore
from tidings.store.rules.silences import SilenceStore
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler
from tidings.write.hooks import CommitHook
from tidings.write.workspace import Workspace, WriteParts


@dataclass(slots=True)
class RuleRegistry:
    """The rules of one database."""

    storage: Storage
    scheduler: Scheduler
    timeline: Timeline
    evaluator: Evaluator
    actions: Actions
    store: RuleStore
    forget: Callable[[], None]
    """Forgets what was compiled under other definitions."""
    write_parts: WriteParts
    """What transactions work with."""
    bound: int = BOUND
    """So many actions may run in one check phase."""
    retry_policy: RetryPolicy | None = None
    """How often actions that failed after the commit are tried again; they are not if it is None."""
    sent: Callable[[], None] = lambda: None
    """Is told when there may be something to deliver."""
    _kept: list[RuleRecord] | None = None
    _rules: dict[int, Rule] | None = None
    _ready: dict[tuple[int, str], Rule] = field(default_factory=dict)
    _shapes: dict[int, RuleShape] | None = None
    _plans: dict[str, Relation | None] = field(default_factory=dict)
    """Bound queries of shapes."""
    _proposals: dict[str, Rule] = field(default_factory=dict)
    """Rules that were asked about and are not made, by their texts."""
    _by_table: dict[str, list[Rule]] = field(default_factory=dict)
    silences: Silences = field(init=False)

    def __post_init__(self) -> None:
        self.silences = Silences(SilenceStore(self.storage), self.evaluator)

    # what there is

    @property
    def kept(self) -> list[RuleRecord]:
        """Rules as the catalog has them."""
        if self._kept is None:
            self._kept = self.store.rules() if self.storage.has_rule_tables else []
        return self._kept

    def rules(self) -> list[Rule]:
        """Rules, bound; those that cannot be are left out, and shown as failing."""
        return list(self._bound().values())

    def _bound(self) -> dict[int, Rule]:
        if self._rules is None:
            self._rules, self._shapes = {}, None
            for kept in self.kept:
                try:
                    self._rules[kept.id] = self._ready_again(kept)
                except TidingsError as error:
                    self.fail(kept.id, error)
            sound = {k.id for k in self.kept if k.enabled and k.error is None}
            late = [r for r in self._rules.values() if r.condition == "detached" and r.id in sound]
            self.storage.rule_cursors = {r.id: r.until for r in late}
            self._by_table = {}
            for rule in [r for r in self._rules.values() if r.enabled]:
                for name in rule.influents | rule.hears:
                    self._by_table.setdefault(name, []).append(rule)
        return self._rules

    def _ready_again(self, kept: RuleRecord) -> Rule:
        """A rule bound once for as long as definitions stay: programs are known by their plans."""
        if (kept.id, kept.text) not in self._ready:
            self._ready[kept.id, kept.text] = self.ready(kept)
        rule = self._ready[kept.id, kept.text]
        rule.until, rule.enabled, rule.created = kept.until, kept.enabled, kept.created
        return rule

    def touched(self, tables: set[str]) -> list[Rule]:
        """The rules that read or hear of some tables; those of others cost nothing."""
        self._bound()
        return list({r.id: r for name in tables for r in self._by_table.get(name, ())}.values())

    def shapes(self) -> dict[int, RuleShape]:
        """What rules have in common, by their numbers."""
        bound = self._bound()
        if self._shapes is None:
            relations, analyzer = self.storage.relations, self.storage.backend
            self._shapes = shapes(list(bound.values()), relations, analyzer, self._plans) if len(bound) > 1 else {}
        return self._shapes

    def ready(self, kept: RuleRecord) -> Rule:
        """A rule from what the catalog has of it."""
        (read,) = statement.read(kept.text)
        assert isinstance(read, CreateRule)
        return self.bind(kept, read)

    def named(self, name: str) -> RuleRecord:
        """The rule of a name."""
        found = next((k for k in self.kept if k.name.lower() == name.lower()), None)
        if found is None:
            raise UnknownRule(None, closest(name, [k.name for k in self.kept]), name=name)
        return found

    def proposed(self, text: str) -> Rule:
        """The rule of a name, or one that is not made yet, from the text that would make it."""
        if text in self._proposals:
            return self._proposals[text]
        if any(k.name.lower() == text.lower() for k in self.kept):
            self.rules()
            return self._ready_again(self.named(text))
        read = statement.read(text) if len(text.split()) > 1 else []
        if len(read) != 1 or not isinstance(read[0], CreateRule):
            raise UnknownRule(None, closest(text, [k.name for k in self.kept]), name=text)
        if read[0].parameters and self.storage.relations.find(activations_of(read[0].name)) is None:
            raise InvalidRule(read[0].place, name=read[0].name, reason="it has parameters, and no activations yet")
        rule = self.bind(RuleRecord(0, read[0].name, read[0].definition, True, 0, 0), read[0])
        return self._proposals.setdefault(text, rule)

    def forget_plans(self) -> None:
        """A definition has changed."""
        self._rules = None
        self._ready.clear()
        self._proposals.clear()
        self._plans.clear()

    def reload(self) -> None:
        """Read what is kept again."""
        self._kept = self._rules = None
        self.silences.store.reload()

    def heard(self, fired: list[Fired], at: int) -> list[Fired]:
        """What fired at an instant, the silenced part of it apart."""
        return self.silences.split(fired, at)

    def forget_before(self, instant: int) -> None:
        """Forget what rules did before an instant."""
        self.store.forget(instant)
        self.silences.store.forget(instant)

    def fail(self, id: int, error: Exception | None) -> None:
        """Note what is wrong with a rule."""
        known = next((k for k in self.kept if k.id == id), None)
        message = None if error is None else what_is_wrong(error)
        if known is None or known.error == message or self.storage.is_reader:
            return
        self.store.fail(id, message)
        self._kept = [replace(k, error=message) if k.id == id else k for k in self.kept]
        if message is not None:
            self.storage.rule_cursors.pop(id, None)

    def failing(self) -> set[int]:
        """The rules that something is wrong with."""
        return {k.id for k in self.kept if k.error is not None}

    def recovered(self, rule: Rule) -> None:
        """A rule that something was wrong with has been judged, and has done what it does in a transaction."""
        self.fail(rule.id, None)

    def moved(self, id: int, until: int) -> None:
        """A rule has been judged up to an instant."""
        self._kept = [replace(k, until=until, error=None) if k.id == id else k for k in self.kept]
        self.storage.rule_cursors[id] = until

    def bind(self, kept: RuleRecord, read: CreateRule) -> Rule:
        relations = self.storage.relations
        condition = bound(read, relations, self.storage.backend)
        found = influents(condition.plan, relations.definitions())
        if found & relations.system_tables.keys():
            reason = "its condition reads what the database knows of itself, which has no changes"
            raise InvalidRule(read.place, name=read.name, reason=reason)
        if condition.changes_of is not None:
            found |= influents(condition.changes_of.plan, relations.definitions())
            found -= {condition.changes_of.relation}
        heard = frozenset[str]()
        if read.event is not None:
            occurrence.check(read.event, relations, read.name)
            heard = frozenset(n for n in relations.names() if n.lower() in occurrence.tables(read.event))
        asks = (
            read.event is not None
            and condition.changes_of is None
            and not _has_tables(read.event)
            and not heard & relations.below(condition.plan)
        )
        rule = Rule(
            id=kept.id,
            statement=read,
            plan=condition.plan,
            influents=found - {CLOCK},
            changes_of=condition.changes_of,
            activations=condition.activations,
            created=kept.created,
            until=kept.until,
            enabled=kept.enabled,
            hears=heard,
            asks=asks,
            timed=CLOCK in found,
        )
        self._check(rule)
        return rule

    def _check(self, rule: Rule) -> None:
        """Refuse what does not go together."""
        read = rule.statement
        later = rule.condition == "detached"
        together = read.options.condition == "detached" and rule.action == "immediate" and not rule.lives
        if later and rule.action in ("immediate", "deferred") and not together:
            reason = "what waits for the clock is judged after commits, so its action is detached"
            raise InvalidRule(read.place, name=rule.name, reason=reason)
        if later and needs_order(read.event):
            reason = "the order within a transaction is known before its commit only"
            raise InvalidRule(read.place, "give THEN a WITHIN INTERVAL", name=rule.name, reason=reason)
        if rule.asks and read.when != "begins":
            reason = "it takes what holds when its event happens, which neither comes nor goes"
            raise InvalidRule(read.place, "use WHEN, without GONE or CHANGED", name=rule.name, reason=reason)
        for text in (read.options.effective, read.options.expires):
            try:
                datetime.fromisoformat(text or "2000-01-01")
            except ValueError:
                raise InvalidRule(read.place, name=rule.name, reason=f"{text!r} is no instant") from None
        tracking.check(rule)
        message_groups.check(rule)
        self.actions.check(rule, self.storage.relations)

    # looking on

    def hook_for(self, workspace: Workspace, depth: int = 0, then: CommitHook | None = None) -> RuleHook | None:
        """The rules look on while a transaction is open; nobody does if there are none."""
        if not self.kept and then is None:
            return None
        agenda = Agenda(workspace, self.scheduler, self.actions, self.time, self._failed, self.shapes(), self.bound)
        return RuleHook(agenda, self, self.store, self.time, self.timeline.clock.now, self.sent, depth, then)

    def time(self) -> int:
        """The time of the last commit."""
        return self.timeline.time

    def _failed(self, rule: Rule, error: Exception) -> None:
        self.fail(rule.id, error)

    def transaction(self, depth: int = 0, then: CommitHook | None = None) -> Workspace:
        """A transaction of the rules' own."""
        return Workspace(self.write_parts, lambda workspace: self.hook_for(workspace, depth, then))

    # what may not go

    def dependents(self, relation: str) -> list[str]:
        """The rules that read a relation, change it, or wait for what happens to it."""
        found = []
        for rule in self.rules():
            action, names = rule.statement.action, {n.lower() for n in self.storage.relations.below(rule.plan)}
            if rule.changes_of is not None:
                names |= {n.lower() for n in self.storage.relations.below(rule.changes_of.plan)}
            names |= {n.lower() for n in reads(rule.plan)}
            names |= occurrence.tables(rule.event) if rule.event is not None else frozenset()
            names |= {action.change.table.lower()} if isinstance(action, Modify) else set()
            if relation.lower() in names:
                found.append(rule.name)
        return found

    def require_free(self, relation: str) -> None:
        """Refuse to let a relation go that rules need."""
        names = self.dependents(relation) if self.kept else []
        if names:
            listed = ", ".join(f"rule {n}" for n in sorted(names))
            raise DependentObjects(None, "drop the rules first", name=relation, dependents=listed)

    def check_definition(self, read: statement.Statement) -> None:
        """Refuse a definition that would take away what rules need."""
        match read:
            case statement.Drop():
                for name in read.names:
                    found = self.storage.relations.find(name)
                    if isinstance(found, Table) and found.role != "table":
                        kind = "EVENT" if found.role == "event" else "RULE"
                        raise UnsupportedStatement(None, f"use DROP {kind}", statement=f"DROP TABLE {found.name}")
                    self.require_free(name)
            case statement.RenameTable() | statement.RenameColumn():
                self.require_free(read.table)
            case statement.CreateView():
                for table in read.query.find_all(exp.Table):
                    if ".".join(p.name for p in table.parts).lower() in self.storage.relations.system_tables:
                        at = place(read.text, table)
                        raise UnsupportedStatement(at, "query it", statement=f"a view of {table.sql('spark')}")
            case _:
                pass


def _has_tables(event: Event) -> bool:
    """Whether what happens to a table is, or is part of, an event."""
    match event:
        case Or(parts=parts) | And(parts=parts) | Then(parts=parts):
            return any(map(_has_tables, parts))
        case _:
            return isinstance(event, TableEvent)

"""Explains a rule: its event, what wakes it, its instances and couplings, and the differentials of its condition.

A relation in the network of the condition is *active* if a change of a table below it wakes the rule.  A change of what
is *passive* counts only in a transaction that wakes the rule by something else.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.analysis.dependencies import above, draw
from tidings.analysis.influents import CLOCK, influents
from tidings.delta.plan import compile_program
from tidings.explain import explain_change, explain_fragments, sections
from tidings.ir import text as plan_text
from tidings.ir.relation import Relation
from tidings.lang.sql.changes import ChangesOf
from tidings.lang.sql.statements.action import Raise, Send
from tidings.lang.sql.statements.event import SignalEvent, TableEvent
from tidings.read.in_transaction import definitions_at
from tidings.rewrite.pipeline import normalise
from tidings.rules.action.summary import summary
from tidings.rules.condition.shape import RuleShape
from tidings.rules.context import RuleContext
from tidings.rules.explain.event_tree import event_tree, label, simple_events
from tidings.rules.explain.time_text import interval_text
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table
from tidings.waves.engines import IN_PROCESS

_JUDGED = {
    "immediate": "after each statement, over what that did",
    "deferred": "before the commit, over the whole transaction",
    "detached": "after the commit, by advance(), each transaction alone",
}
_ACTS = {
    "immediate": "as soon as the condition is judged",
    "deferred": "before the commit",
    "detached": "after the commit, by advance(), in a transaction of its own",
    "detached independent": "after the transaction, even one that is given up, by advance(), in one of its own",
}
_SENT = {
    "detached": "sent after the commit",
    "detached independent": "sent after the transaction, even one that is given up",
}
_FIRES = {
    "begins": "for those that begin to hold",
    "gone": "for those that cease to hold",
    "changed": "for those that come, go or change",
}


@dataclass(frozen=True, slots=True)
class RuleExplanations:
    """Explains the rules of one database."""

    context: RuleContext

    def explain(self, text: str) -> str:
        """How a rule is judged, by its name or by the text of a ``CREATE RULE``, as text for a terminal."""
        rule = self.context.registry.find_or_propose(text)
        relations = self.context.scheduler.relations
        parts = [
            ("Rule", "\n".join([rule.name, f"does: {summary(rule.action)}", *_state(rule)])),
            ("Event", "none: whenever the condition changes" if rule.event is None else event_tree(rule.event)),
            ("Woken by", "\n".join(self._wakers(rule)) or "nothing: the condition never changes"),
            ("Couplings", _couplings(rule)),
            ("Instances", "\n".join(_instances(rule))),
            ("Judged", "\n".join([self._company(rule), self._engine(rule)])),
            ("Dependency network", self._network(rule)),
            ("Plan", plan_text.show(normalise(rule.instances, relations.definitions()))),
            *explain_fragments(rule.instances, relations.definitions(), relations.fragmented()),
            *self._changes(rule),
        ]
        return sections(parts)

    # what wakes a rule

    def _wakers(self, rule: Rule) -> list[str]:
        relations = self.context.scheduler.relations
        waking = _waking(rule)
        signals = {name for name in waking if name != CLOCK and relations.table(name).role == "event"}
        lines = []
        if tables := waking - signals - {CLOCK}:
            lines.append(f"tables: {', '.join(sorted(tables))}")
        if signals:
            lines.append(f"signals: {', '.join(sorted(signals))}")
        if rule.event is not None:
            simple = dict.fromkeys(e for e in simple_events(rule.event) if not isinstance(e, TableEvent | SignalEvent))
            lines += [f"time: {label(event)}" for event in simple]
        if CLOCK in waking:
            lines.append("time: now() in the condition")
        intervals = {"for": rule.options.hold, "keep_alive": rule.options.keep_alive}
        lines += [f"deadlines: {name} = {interval_text(i)}" for name, i in intervals.items() if i]
        return lines

    # how it is judged

    def _company(self, rule: Rule) -> str:
        """Whether a rule is judged with others that differ only in constants."""
        shape = self._shape(rule)
        rules = self.context.registry.rules() if shape is not None else []
        together = ", ".join(sorted(r.name for r in rules if r.id != rule.id and self._shape(r) is shape))
        return f"by one query with {together}: they differ in constants" if together else "by itself"

    def _engine(self, rule: Rule) -> str:
        """Where a condition is judged, and why there."""
        scheduler = self.context.scheduler
        if rule.evaluates_on_event:
            return f"on {scheduler.engines.runner.backend.name}: it is evaluated as a query"
        shape = self._shape(rule)
        plan = rule.instances if shape is None else shape.plan
        changed = self._differentiated(rule)
        program = compile_program(rule.name, plan, changed, self._definitions(plan, changed))
        choice = scheduler.engines.choice(program, changes=1)
        where = "in this process" if choice.execution == IN_PROCESS else f"on {choice.execution}"
        return f"{where}: {choice.why}"

    def _shape(self, rule: Rule) -> RuleShape | None:
        """The shape by which a rule is judged; after commits every rule is judged by itself."""
        is_alone = rule.condition_coupling == "detached" or not rule.record.enabled
        return None if is_alone else self.context.registry.shapes().get(rule.id)

    def _network(self, rule: Rule) -> str:
        relations = self.context.scheduler.relations
        definitions = relations.definitions() | {of.relation: of.plan for of in rule.condition.changes}
        active = above(_waking(rule), rule.name, rule.condition.plan, definitions)
        return draw(
            rule.name, rule.condition.plan, definitions, lambda name: f" ({'active' if name in active else 'passive'})"
        )

    # its differentials

    def _changes(self, rule: Rule) -> list[tuple[str, str]]:
        """What is run when something that the condition depends on changes."""
        if rule.evaluates_on_event:
            return [("When the event happens", "the whole condition is evaluated, whatever changed")]
        parts = [part for of in rule.condition.changes for part in self._pairs(of)]
        relations_of_changes = {of.relation for of in rule.condition.changes}
        for relation in sorted(self._differentiated(rule)):
            title, differentials = self._change(rule.name, rule.instances, relation)
            parts.append((f"When there are {relation}" if relation in relations_of_changes else title, differentials))
        return parts

    def _pairs(self, of: ChangesOf) -> list[tuple[str, str]]:
        """How the rows of ``CHANGES(…)`` are found when a table changes."""
        relations = self.context.scheduler.relations
        paired = f"old and new rows of Δ{of.name}, paired by {', '.join(of.key) or 'the whole row'}"
        if isinstance(relations.find(of.name), Table):
            return [(f"When {of.name} changes, for the {of.relation}", paired)]
        tables = sorted(influents(of.plan, relations.definitions()))
        found = [self._change(of.name, of.plan, table) for table in tables]
        return [(f"{title}, for the {of.relation}", f"{paired}\n{differentials}") for title, differentials in found]

    def _change(self, name: str, plan: Relation, table: str) -> tuple[str, str]:
        definitions = self._definitions(plan, frozenset({table}))
        return explain_change(name, plan, table, definitions, self.context.storage.backend.dialect)

    def _differentiated(self, rule: Rule) -> frozenset[str]:
        """The tables, and relations of changes, whose changes are turned into changes of the condition."""
        return _counting(rule, influents(rule.instances, self.context.scheduler.relations.definitions()))

    def _definitions(self, plan: Relation, changed: frozenset[str]) -> dict[str, Relation]:
        """The views whose queries stand for them when some tables change."""
        return definitions_at(self.context.scheduler, plan, self.context.timeline.time, changed)


def _waking(rule: Rule) -> frozenset[str]:
    """The tables and signals, and perhaps the clock, that wake a rule."""
    return rule.event_tables if rule.event is not None else _counting(rule, rule.dependencies)


def _counting(rule: Rule, relations: frozenset[str]) -> frozenset[str]:
    """Relations without the activations of a rule, where these do not fire it."""
    activations = rule.condition.activations
    return relations if activations is None or rule.options.initial else relations - {activations}


def _state(rule: Rule) -> list[str]:
    """Whether a rule is judged at all, and before which others."""
    record, options = rule.record, rule.options
    lines = [f"priority: {options.priority}"] if options.priority else []
    lines += [] if record.enabled else ["disabled"]
    lines += [f"failing: {record.error}"] if record.error is not None else []
    instants = {"from": options.effective, "until": options.expires}
    return lines + [f"{word} {instant}" for word, instant in instants.items() if instant is not None]


def _couplings(rule: Rule) -> str:
    acts = _ACTS[rule.action_coupling]
    if isinstance(rule.action, Send):
        acts = _SENT.get(rule.action_coupling, acts)
    elif isinstance(rule.action, Raise):
        acts = "as soon as the condition is judged: it refuses the transaction"
    judged = f"condition {rule.condition_coupling}: {_JUDGED[rule.condition_coupling]}"
    return f"{judged}\naction {rule.action_coupling}: {acts}"


def _instances(rule: Rule) -> list[str]:
    """Which rows are one instance, and for which instances a rule fires."""
    key = ", ".join(rule.key)
    lines = [f"by key: {key}" if key else "by row: all its columns"]
    if rule.condition.activations is not None:
        lines.append(f"of each activation: the rows of {rule.condition.activations}")
    if rule.evaluates_on_event:
        return [*lines, "fires for all that hold when the event happens"]
    if rule.is_nervous:
        return [*lines, "nervous: fires for those that begin to hold, and for those that are touched"]
    return [*lines, f"strict: fires {_FIRES[rule.when]}"]

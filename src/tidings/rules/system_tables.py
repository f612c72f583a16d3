"""The system tables of rules: ``tidings.rules``, ``tidings.firings`` and ``tidings.silences``.

They show the catalog as it is now.  They have no history and no changes, so views and rules cannot read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidings.clock import instant
from tidings.engine.changes import as_changes
from tidings.ir.relation import Column
from tidings.masking import covered
from tidings.rules.action.payload import as_json
from tidings.rules.action.summary import summary
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.relation.net import table_of
from tidings.store.rules.rule_store import Firing, RuleRecord
from tidings.store.rules.silences import Silence, SilenceStore
from tidings.store.timeline import Timeline

RULES, FIRINGS, SILENCES = "tidings.rules", "tidings.firings", "tidings.silences"


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*part.split()) for part in text.split(","))


TABLES: dict[str, tuple[Column, ...]] = {
    RULES: _columns(
        "name string, enabled boolean, priority int, semantics string, condition string, action string, does string,"
        " groups string, activations bigint, created timestamp, error string, text string"
    ),
    FIRINGS: _columns(
        "id bigint, rule string, time timestamp, action string, state string, depth int, instances bigint, rows string,"
        " finished timestamp, error string"
    ),
    SILENCES: _columns(
        "id int, rule string, condition string, since timestamp, until timestamp, comment string, active boolean,"
        " groups string"
    ),
}
"""The columns of the tables."""


@dataclass(frozen=True, slots=True)
class RuleSystemTables:
    """Gives the rows of the system tables about the rules of one database."""

    registry: RuleRegistry
    silences: SilenceStore
    timeline: Timeline

    def changes(self, name: str) -> pa.Table:
        """The rows of one of the tables, as changes that insert them."""
        match name:
            case "tidings.rules":
                rows = self._rules()
            case "tidings.silences":
                now = self.timeline.now()
                rows = [_silence(silence, now) for silence in self.silences.silences()]
            case _:
                rows = [_firing(firing) for firing in self.registry.store.firings()]
        return as_inserts(TABLES[name], rows)

    def _rules(self) -> list[tuple[Any, ...]]:
        bound = {rule.id: rule for rule in self.registry.rules()}
        failing = errors_by_rule(self.registry)
        return [self._rule(record, bound.get(record.id), failing.get(record.name)) for record in self.registry.records]

    def _rule(self, record: RuleRecord, rule: Rule | None, error: str | None) -> tuple[Any, ...]:
        created = instant(record.created)
        if rule is None:
            return (record.name, record.enabled, *[None] * 7, created, error, covered(record.text))
        options = rule.options
        activations = None
        if rule.condition.activations is not None:
            table = self.registry.binder.relations.table(rule.condition.activations)
            activations = table.history.size(self.timeline.time)
        return (
            *(rule.name, record.enabled, options.priority, "nervous" if options.nervous else "strict"),
            *(rule.condition_coupling, rule.action_coupling, summary(rule.action), options.group, activations),
            *(created, error, covered(record.text)),
        )


def errors_by_rule(registry: RuleRegistry) -> dict[str, str]:
    """What is wrong with rules, by their names: with their conditions, with what they did, or with what they sent."""
    if not registry.records:
        return {}
    errors = {record.name: record.error for record in registry.records}
    troubles = registry.store.troubles()
    return {name: text for name, error in errors.items() if (text := error or troubles.get(name)) is not None}


def as_inserts(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as changes that insert them."""
    table = table_of(columns, rows)
    return as_changes(columns, table, [1] * table.num_rows)


def _silence(silence: Silence, now: int) -> tuple[Any, ...]:
    times = instant(silence.since), instant(silence.until)
    return silence.id, silence.rule, silence.condition, *times, silence.comment, now < silence.until, silence.group


def _firing(firing: Firing) -> tuple[Any, ...]:
    rows = as_json(firing.rows.to_pylist())
    finished = None if firing.finished is None else instant(firing.finished)
    return (
        *(firing.id, firing.rule, instant(firing.time), firing.coupling, firing.state, firing.depth),
        *(firing.rows.num_rows, rows, finished, firing.error),
    )

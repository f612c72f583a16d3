"""What rules are there and what they did, as tables: ``tidings.rules``, ``tidings.firings``, ``tidings.silences``.

They show the catalog as it is now.  They have no history and no changes, so views and rules cannot read them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidings.clock import instant
from tidings.engine.changes import as_changes
from tidings.ir.relation import Column
from tidings.rules.action.run import as_json, does
from tidings.rules.registry import RuleRegistry
from tidings.rules.rule import Rule
from tidings.store.relation.net import table_of
from tidings.store.rules.rule_store import Firing, RuleRecord
from tidings.store.rules.silences import Silence

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
        "id int, rule string, condition string, since timestamp, until timestamp, comment string, active boolean"
    ),
}
"""The columns of the tables."""


def entry(registry: RuleRegistry, name: str) -> pa.Table:
    """The rows of one of the tables, as changes that bring them."""
    if name == RULES:
        bound = {r.id: r for r in registry.rules()}
        troubles = registry.store.troubles() if registry.kept else {}
        rows = [
            _rule(registry, kept, bound.get(kept.id), kept.error or troubles.get(kept.name)) for kept in registry.kept
        ]
    elif name == SILENCES:
        now = registry.timeline.now()
        rows = [_silence(s, now) for s in registry.silences.store.silences()]
    else:
        rows = [_firing(f) for f in registry.store.firings()]
    return as_rows(TABLES[name], rows)


def as_rows(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as changes that bring them."""
    found = table_of(columns, rows)
    return as_changes(columns, found, [1] * found.num_rows)


def _rule(registry: RuleRegistry, kept: RuleRecord, rule: Rule | None, error: str | None) -> tuple[Any, ...]:
    created = instant(kept.created)
    if rule is None:
        return (kept.name, kept.enabled, *[None] * 7, created, error, kept.text)
    options = rule.options
    active = None
    if rule.activations is not None:
        active = registry.storage.relations.table(rule.activations).size(registry.timeline.time)
    return (
        *(rule.name, kept.enabled, options.priority, "nervous" if options.nervous else "strict"),
        *(rule.condition, rule.action, does(rule), options.group, active, created, error, kept.text),
    )


def _silence(silence: Silence, now: int) -> tuple[Any, ...]:
    times = instant(silence.since), instant(silence.until)
    return silence.id, silence.rule, silence.condition, *times, silence.comment, now < silence.until


def _firing(firing: Firing) -> tuple[Any, ...]:
    rows = as_json(firing.rows.to_pylist())
    finished = None if firing.finished is None else instant(firing.finished)
    return (
        *(firing.id, firing.rule, instant(firing.time), firing.coupling, firing.state, firing.depth),
        *(firing.rows.num_rows, rows, finished, firing.error),
    )

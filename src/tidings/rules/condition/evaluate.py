"""Judges conditions: which rows a rule fires for, given what a slice of a transaction did.

A condition is a plan like a view's, and its changes are computed by the same differentials:

- The rows of ``CHANGES(…)`` are those of the slice that is judged, and no others.
- Rows that hold because an activation was inserted, or cease because one was deleted, do not count, unless the rule
  takes what holds already (``initial``).

An instance holds or does not, however many rows of the query say so: the plan is that of the rule's instances
(:mod:`tidings.rewrite.instances`), a set of rows, or of one row per key.

Strict: the instances that hold after the slice and did not before.  Nervous: also those whose row would not be there
without the rows that were inserted.  An instance that held and is touched is one of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import (
    at_instant,
    came,
    no_changes,
    paired,
    rows_that_came,
    rows_that_went,
    went,
    without_version,
)
from tidings.engine.row_values import row_keys
from tidings.ir.expression import TIME, WEIGHT
from tidings.lang.sql.changes import ChangesOf
from tidings.lang.sql.rules.condition import CHANGE
from tidings.read import in_transaction
from tidings.read.side_by_side import changes_entry
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table
from tidings.waves.scheduler import Scheduler

ConditionDelta = Callable[[Rule, TransactionSlice, NetEntries, NetEntries, bool], pa.Table]
"""The changes of a rule's condition in a slice: what ``changes`` on top of ``before`` make of its rows.

The last argument says whether these are only the rows that were inserted, on top of those that stayed; then the same
slice is judged twice, with different changes.
"""


def instances(
    scheduler: Scheduler, rule: Rule, tx_slice: TransactionSlice, condition_delta: ConditionDelta
) -> pa.Table:
    """The rows of the instances for which a rule is triggered by a slice of a transaction."""
    before, changes = _visible_changes(scheduler, rule, tx_slice)
    if not changes.keys() & rule.influents.union(of.relation for of in rule.condition.changes):
        return arrow_schema(rule.columns).empty_table()
    delta = condition_delta(rule, tx_slice, before, changes, False)
    if not delta.num_rows and not rule.options.nervous:
        return delta
    if rule.is_nervous:
        stayed = {name: _merged(before.get(name), went(entry)) for name, entry in changes.items()}
        inserted = {name: rows for name, entry in changes.items() if (rows := came(entry)).num_rows}
        touched = condition_delta(rule, tx_slice, before | stayed, inserted, True)
        return either(rule, firing_rows(rule, delta), rows_that_came(touched))
    return firing_rows(rule, delta)


def _visible_changes(scheduler: Scheduler, rule: Rule, tx_slice: TransactionSlice) -> tuple[NetEntries, NetEntries]:
    """What was done before a slice and in it, as a rule sees it: with ``CHANGES``, and activations as given."""
    before, changes = tx_slice.before, tx_slice.changes
    activations = rule.condition.activations
    if activations is None and not rule.condition.changes:
        return before, changes
    before, changes = dict(before), dict(changes)
    if activations is not None and not rule.options.initial and activations in changes:
        before[activations] = _merged(before.get(activations), changes.pop(activations))
    if not changes:
        return before, changes
    entries = {of.relation: _changes_of(scheduler, of, tx_slice.at, before, changes) for of in rule.condition.changes}
    before |= {of.relation: no_changes(of.side_by_side) for of in rule.condition.changes}
    return before, changes | {name: entry for name, entry in entries.items() if entry.num_rows}


def changes_relation(scheduler: Scheduler, rule: Rule, tx_slice: TransactionSlice) -> NetEntries:
    """The rows of ``CHANGES(…)`` in a slice, by the name of their relation; nothing if the rule does not read any."""
    at, before, changes = tx_slice.at, tx_slice.before, tx_slice.changes
    return {of.relation: _changes_of(scheduler, of, at, before, changes) for of in rule.condition.changes}


def _changes_of(scheduler: Scheduler, of: ChangesOf, at: int, before: NetEntries, changes: NetEntries) -> pa.Table:
    """The rows of ``CHANGES(…)``, as a log entry."""
    entry = changes.get(of.name)
    if not isinstance(scheduler.relations.find(of.name), Table):
        entry = in_transaction.delta(scheduler, of.relation, of.plan, at, before, changes)
    return no_changes(of.side_by_side) if entry is None else changes_entry(of, entry, at + 1)


def _merged(earlier: pa.Table | None, later: pa.Table) -> pa.Table:
    """Two log entries as one that counts as committed long ago."""
    return at_instant(later if earlier is None else pa.concat_tables([earlier, later]), 0)


def firing_rows(rule: Rule, delta: pa.Table) -> pa.Table:
    """The rows that a rule fires for, by its WHEN clause, from the changes of its condition."""
    match rule.when:
        case "begins":
            return rows_that_came(_without_same_instances(rule, delta))
        case "gone":
            return rows_that_went(_without_same_instances(rule, delta))
        case "changed" if rule.key:
            return _changed_by_key(rule, delta)
        case "changed":
            old, new = rows_that_went(delta), rows_that_came(delta)
            marks = pa.array(["went"] * old.num_rows + ["came"] * new.num_rows, pa.string())
            return pa.concat_tables([old, new]).append_column(CHANGE, marks)


def either(rule: Rule, rows: pa.Table, more: pa.Table) -> pa.Table:
    """The rows for which a rule is triggered in one way, and those of other instances for which it is in another."""
    identifying = list(rule.key) or [c.name for c in rule.condition.columns]
    known = set(row_keys(rows.select(identifying)))
    is_new = [key not in known for key in row_keys(more.select(identifying))]
    return pa.concat_tables([rows, more.filter(pa.array(is_new, pa.bool_()))])


def _without_same_instances(rule: Rule, delta: pa.Table) -> pa.Table:
    """Changes without those in which an instance only takes other values: by its key it was there and still is."""
    if not rule.key:
        return delta
    keys = row_keys(delta.select([*rule.key, TIME]))
    signs: dict[object, set[bool]] = {}
    for key, weight in zip(keys, delta.column(WEIGHT).to_pylist(), strict=True):
        signs.setdefault(key, set()).add(weight > 0)
    return delta.filter(pa.array([len(signs[key]) == 1 for key in keys], pa.bool_()))


def _changed_by_key(rule: Rule, delta: pa.Table) -> pa.Table:
    """Changes by key, one row each: the values there are now, and what was there before."""
    rows, pairs = without_version(delta), paired(delta, rule.key)
    current = rows.take(pa.array([old if new is None else new for old, new in pairs], pa.int64()))
    old_places = pa.array([None if new is None else old for old, new in pairs], pa.int64())
    marks = ["came" if old is None else "went" if new is None else "changed" for old, new in pairs]
    old_names = [c.name for c in rule.condition.columns if c.name not in rule.key]
    arrays = [*current.columns, pa.array(marks, pa.string())]
    arrays += [rows.column(name).combine_chunks().take(old_places) for name in old_names]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(rule.columns))

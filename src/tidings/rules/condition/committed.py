"""Judges conditions over what is committed, each transaction alone.

One wave gives the changes of a condition at every instant of a batch.  Where a transaction has to be judged by itself,
its changes are read from the log as a slice, and judged as if it were open: for ``CHANGES``, for nervous rules, and
where activations were inserted or deleted.

A signal is gone at the instant after its transaction.  Nothing was done then, so no rule is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.changes import by_instant
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Relation, Version
from tidings.read import in_transaction
from tidings.rules.condition.evaluate import ConditionDelta, firing_rows, instances
from tidings.rules.condition.holding import holding
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.happening import Happening
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.waves.scheduler import Scheduler


def firing_rows_by_instant(
    scheduler: Scheduler, rule: Rule, since: int, until: int, happenings: Sequence[Happening] | None
) -> Iterator[tuple[int, pa.Table]]:
    """The rows that a rule fires for in ``(since, until]``, by instant, in order.

    ``happenings`` are those of its event, None if it has none.
    """
    relations = scheduler.relations
    events = None if happenings is None else {h.end for h in happenings}
    if rule.evaluates_on_event:
        for at in sorted(events or ()):
            tx_slice = _logged_slice(rule, relations, at)
            ending = [happening for happening in happenings or () if happening.end == at]

            def answer(plan: Relation, entries: NetEntries, at: int = at) -> pa.Table:
                return in_transaction.answer(scheduler, plan, at, replaced=entries)

            yield at, holding(scheduler, rule, tx_slice, ending, answer, is_open=False)
        return
    if events is not None and not events:
        return
    alone = _judged_alone(rule, relations, since, until)
    deltas: dict[int, pa.Table] = {}
    if not rule.condition.changes:
        deltas = by_instant(scheduler.delta(rule.name, rule.instances, since, until, net=False))
    candidates = (deltas.keys() | alone) - _signal_ends(rule, relations, since, until)
    for at in sorted(candidates if events is None else candidates.intersection(events)):
        if at in alone:
            yield at, instances(scheduler, rule, _logged_slice(rule, relations, at), condition_delta(scheduler))
        else:
            yield at, firing_rows(rule, deltas[at])


def condition_delta(scheduler: Scheduler) -> ConditionDelta:
    """Computes the changes of conditions over slices of what is committed."""

    def delta(
        rule: Rule, tx_slice: TransactionSlice, before: NetEntries, changes: NetEntries, only_inserted: bool
    ) -> pa.Table:
        return in_transaction.delta(scheduler, rule.name, rule.instances, tx_slice.at, before, changes)

    return delta


def _judged_alone(rule: Rule, relations: Relations, since: int, until: int) -> set[int]:
    """The instants whose transactions have to be judged by themselves."""
    if rule.condition.changes or rule.is_nervous:
        return {time for table in _tables(rule, relations) for time in table.history.times(since, until)}
    if rule.condition.activations is not None and not rule.options.initial:
        return set(relations.table(rule.condition.activations).history.times(since, until))
    return set()


def _signal_ends(rule: Rule, relations: Relations, since: int, until: int) -> set[int]:
    """The instants at which signals are gone."""
    signals = [table for table in _tables(rule, relations) if table.role == "event"]
    return {time for table in signals for time in table.history.times(since, until) if not _has_inserts(table, time)}


def _has_inserts(table: Table, at: int) -> bool:
    return bool(pc.any(pc.greater(_log_entry(table, at).column(WEIGHT), 0)).as_py())


def _tables(rule: Rule, relations: Relations) -> list[Table]:
    return [relations.table(name) for name in rule.influents]


def _log_entry(table: Table, at: int) -> pa.Table:
    changes = table.source(Version.DELTA, at - 1, at).changes
    assert isinstance(changes, pa.Table)
    return changes


def _logged_slice(rule: Rule, relations: Relations, at: int) -> TransactionSlice:
    """A committed transaction as a slice."""
    entries = {t.name: entry for t in _tables(rule, relations) if (entry := _log_entry(t, at)).num_rows}
    return TransactionSlice.of_entries(at - 1, {}, entries)

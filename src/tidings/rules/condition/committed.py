"""Conditions judged over what is committed, each transaction alone.

One wave tells the changes of a condition at every instant of a batch.  Where a transaction has to be looked at by
itself it is made a stretch of its own again, from the log, and judged as if it were open: for ``CHANGES``, for nervous
rules, and where activations came or went.

A signal is gone at the instant after its transaction.  Nobody does anything then, so no rule is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Version
from tidings.read import in_transaction
from tidings.rules.condition.evaluate import Judge, instances, told
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.occurrence import instants
from tidings.rules.rule import Rule
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.waves.scheduler import Scheduler


def fired(scheduler: Scheduler, rule: Rule, since: int, until: int) -> Iterator[tuple[int, pa.Table]]:
    """For what a rule fires in ``(since, until]``, by instant, in order."""
    relations, event = scheduler.relations, rule.event
    happened = None if event is None else instants(event, relations, since, until, rule.created)
    if rule.asks:
        for at in happened or ():
            yield at, in_transaction.answer(scheduler, rule.plan, at)
        return
    if happened is not None and not happened:
        return
    alone = _alone(rule, relations, since, until)
    found: dict[int, pa.Table] = {}
    if rule.changes_of is None:
        found = by_instant(scheduler.delta(rule.name, rule.plan, since, until, net=False))
    wanted = (found.keys() | alone) - _ends(rule, relations, since, until)
    for at in sorted(wanted if happened is None else wanted.intersection(happened)):
        if at in alone:
            yield at, instances(scheduler, rule, _logged(rule, relations, at), judging(scheduler))
        else:
            yield at, told(rule, found[at])


def by_instant(delta: pa.Table) -> dict[int, pa.Table]:
    """Changes by the instants they are of."""
    ordered = delta.take(pc.sort_indices(delta, [(TIME, "ascending")]))
    times = ordered.column(TIME).to_pylist()
    starts = [n for n, time in enumerate(times) if not n or times[n - 1] != time]
    ends = [*starts[1:], len(times)]
    return {times[a]: ordered.slice(a, b - a) for a, b in zip(starts, ends[: len(starts)], strict=True)}


def _alone(rule: Rule, relations: Relations, since: int, until: int) -> set[int]:
    """The instants at which a transaction has to be looked at by itself."""
    if rule.changes_of is not None or (rule.options.nervous and rule.when == "begins"):
        return {t for table in _tables(rule, relations) for t in table.times(since, until)}
    if rule.activations is not None and not rule.options.initial:
        return set(relations.table(rule.activations).times(since, until))
    return set()


def _ends(rule: Rule, relations: Relations, since: int, until: int) -> set[int]:
    """The instants at which signals are gone."""
    signals = [table for table in _tables(rule, relations) if table.role == "event"]
    return {t for table in signals for t in table.times(since, until) if not _came(table, t)}


def _came(table: Table, at: int) -> bool:
    return bool(pc.any(pc.greater(_entry(table, at).column(WEIGHT), 0)).as_py())


def _tables(rule: Rule, relations: Relations) -> list[Table]:
    return [relations.table(name) for name in rule.influents]


def _entry(table: Table, at: int) -> pa.Table:
    found = table.source(Version.DELTA, at - 1, at).changes
    assert isinstance(found, pa.Table)
    return found


def _logged(rule: Rule, relations: Relations, at: int) -> TransactionSlice:
    """A transaction that is committed, as a stretch."""
    changes: NetEntries = {t.name: entry for t in _tables(rule, relations) if (entry := _entry(t, at)).num_rows}
    return TransactionSlice((), 0, 0, at - 1, {}, changes)


def judging(scheduler: Scheduler) -> Judge:
    """Judges a stretch of what is committed."""

    def judge(rule: Rule, tx_slice: TransactionSlice, before: NetEntries, changes: NetEntries, came: bool) -> pa.Table:
        return in_transaction.delta(scheduler, rule.name, rule.plan, tx_slice.at, before, changes)

    return judge

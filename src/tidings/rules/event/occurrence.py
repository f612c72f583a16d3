"""Finds simple events, and those of one transaction, in what an open transaction does and in what is committed.

In an open transaction an event is judged by the net change of the slice, as conditions are: a row that comes and goes
is no insertion.  In a table with a primary key a row that goes and one that comes with the same key are an update.
Without a key, and in a view, an update cannot be told from a deletion and an insertion, so all three have happened.

In a transaction the end of an event counts only in the slice that is judged: a rule that ran waits for the next one.
Parts of an AND or THEN may have happened before, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc
from croniter import croniter

from tidings.clock import instant as as_datetime
from tidings.clock import micros
from tidings.engine.changes import by_instant, paired, without_version
from tidings.engine.row_values import row_keys
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Scan, Version
from tidings.lang.sql.statements.event import At, Cron, Event, Every, SignalEvent, TableEvent, Ticks
from tidings.lang.sql.statements.rule_options import CatchUp
from tidings.read import in_transaction
from tidings.rules.condition.transaction_slice import TransactionSlice
from tidings.rules.event.spans import Moment, spans
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.waves.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Present:
    """The slice of an open transaction in which an event is looked for, and the instant that counts as now."""

    scheduler: Scheduler
    tx_slice: TransactionSlice
    statement_ends: Sequence[int]
    """The places in the transaction where statements and actions ended."""
    now: int

    @property
    def instant(self) -> int:
        """The instant of the transaction."""
        return max(self.now, self.tx_slice.at + 1)

    @property
    def before(self) -> TransactionSlice:
        """What the transaction did before the slice."""
        return TransactionSlice(self.tx_slice.done, 0, self.tx_slice.start, self.tx_slice.at)


# in an open transaction


def has_happened(event: Event, present: Present) -> bool:
    """Whether an event of one transaction has happened in this one, with its end in the slice that is judged."""
    tx_slice = present.tx_slice
    statements = _by_statement(tx_slice, present.statement_ends)

    def moments(part: TableEvent | SignalEvent, by_statement: bool) -> list[Moment]:
        slices = statements if by_statement else [present.before, tx_slice]
        return [(0, s.end) for s in slices if _is_in(part, present.scheduler, s)]

    return any(place > tx_slice.start for _, place in spans(event, moments))


def _by_statement(tx_slice: TransactionSlice, statement_ends: Sequence[int]) -> list[TransactionSlice]:
    """The transaction up to the end of a slice, cut where statements ended and where the slice starts."""
    starts = sorted({0, tx_slice.start, *(end for end in statement_ends if end < tx_slice.end)})
    return [
        tx_slice
        if (start, end) == (tx_slice.start, tx_slice.end)
        else TransactionSlice(tx_slice.done, start, end, tx_slice.at)
        for start, end in zip(starts, [*starts[1:], tx_slice.end], strict=True)
        if start < end
    ]


def _is_in(event: TableEvent | SignalEvent, scheduler: Scheduler, tx_slice: TransactionSlice) -> bool:
    """Whether an event is among the net changes of a slice."""
    entry = slice_changes(event, scheduler, tx_slice)
    return entry is not None and is_kind(event, scheduler, entry)


def slice_changes(event: TableEvent | SignalEvent, scheduler: Scheduler, tx_slice: TransactionSlice) -> pa.Table | None:
    """The net changes, in a slice, of what an event is about; None if there are none."""
    relation = scheduler.relations.find(relation_of(event))
    if isinstance(relation, Table) or relation is None:
        return None if relation is None else tx_slice.changes.get(relation.name)
    if not tx_slice.changes:
        return None
    plan = Scan(relation.name, relation.name, relation.columns)
    return in_transaction.delta(scheduler, relation.name, plan, tx_slice.at, tx_slice.before, tx_slice.changes)


def relation_of(event: TableEvent | SignalEvent) -> str:
    """The name of the table, view or signal that an event is about."""
    return event.table if isinstance(event, TableEvent) else event.event


def is_kind(event: TableEvent | SignalEvent, scheduler: Scheduler, entry: pa.Table) -> bool:
    """Whether net changes include an insertion, deletion or update, as the event asks."""
    signs = {weight > 0 for weight in pc.unique(pc.sign(entry.column(WEIGHT))).to_pylist()}
    if isinstance(event, SignalEvent):
        return True in signs
    key = scheduler.relations.constraints(event.table).key
    if not key:
        return {"insert": {True}, "delete": {False}, "update": {True, False}}[event.kind] <= signs
    pairs = paired(entry, key)
    match event.kind:
        case "insert":
            return any(old is None for old, _ in pairs)
        case "delete":
            return any(new is None for _, new in pairs)
        case "update":
            return bool(updates(event, entry, key))


def updates(event: TableEvent, entry: pa.Table, key: Sequence[str]) -> list[tuple[int, int]]:
    """The places of old and new rows of updates that change the columns the event names."""
    rows, names = row_keys(without_version(entry)), [n.lower() for n in without_version(entry).column_names]
    places = [names.index(c.lower()) for c in event.columns] or range(len(names))
    both = [(old, new) for old, new in paired(entry, key) if old is not None and new is not None]
    return [(old, new) for old, new in both if any(rows[old][p] != rows[new][p] for p in places)]


# in what is committed


def instants(event: Event, scheduler: Scheduler, since: int, until: int, catch_up: CatchUp = "all") -> Sequence[int]:
    """The instants in ``(since, until]`` at which a simple event, or one of one transaction, happened.

    ``catch_up`` says which ticks count.
    """
    match event:
        case Every(interval=interval):
            return ticks(interval, since, until, catch_up)
        case Cron(text=text):
            return cron_ticks(text, since, until, catch_up)
        case At(instant=at):
            return [at] if since < at <= until else []
        case Ticks():
            return []  # they are counted from what began them
        case _:

            def moments(part: TableEvent | SignalEvent, _: bool) -> list[Moment]:
                return [(time, 0) for time in _logged(part, scheduler, since, until)]

            return sorted(time for time, _ in spans(event, moments))


def _logged(event: TableEvent | SignalEvent, scheduler: Scheduler, since: int, until: int) -> list[int]:
    """The instants of the commits in which an event happened."""
    entries = logged_changes(event, scheduler, since, until)
    return [at for at, entry in entries.items() if is_kind(event, scheduler, entry)]


def logged_changes(
    event: TableEvent | SignalEvent, scheduler: Scheduler, since: int, until: int
) -> dict[int, pa.Table]:
    """The changes of what an event is about, by the instants of their commits."""
    relation = scheduler.relations.find(relation_of(event))
    if isinstance(relation, View | StoredView):
        plan = Scan(relation.name, relation.name, relation.columns)
        return by_instant(scheduler.delta(relation.name, plan, since, until, net=False))
    if relation is None or (start := max(since, relation.forgotten)) >= until:
        return {}
    entries: dict[int, pa.Table] = {}
    for at in relation.history.times(start, until):
        entry = relation.source(Version.DELTA, at - 1, at).changes
        assert isinstance(entry, pa.Table)
        entries[at] = entry
    return entries


def ticks(interval: int, since: int, until: int, catch_up: CatchUp = "all") -> range:
    """The multiples of an interval in ``(since, until]`` that count; one is missed if the next has passed, too.

    >>> [list(ticks(10, 5, 35, policy)) for policy in ("all", "last", "none")]
    [[10, 20, 30], [30], []]
    >>> list(ticks(10, 25, 35, "none"))
    [30]
    """
    passed = range((since // interval + 1) * interval, until + 1, interval)
    match catch_up:
        case "all":
            return passed
        case "last":
            return passed[-1:]
        case "none":
            return passed if len(passed) == 1 else passed[:0]
        case _:
            assert_never(catch_up)


def cron_ticks(text: str, since: int, until: int, catch_up: CatchUp = "all") -> list[int]:
    """The instants in ``(since, until]`` that a cron text says and that count, in UTC.

    >>> noon = 12 * 3_600_000_000
    >>> cron_ticks("0 12 * * *", 0, 3 * 86_400_000_000) == [noon + n * 86_400_000_000 for n in range(3)]
    True
    >>> cron_ticks("0 12 * * *", 0, 3 * 86_400_000_000, "last") == [noon + 2 * 86_400_000_000]
    True
    """
    if catch_up == "all":
        passed = list[int]()
        while (at := next_cron_tick(text, passed[-1] if passed else since)) <= until:
            passed.append(at)
        return passed
    backwards = croniter(text, as_datetime(until + 1))
    last, one_before = (micros(backwards.get_prev(datetime)) for _ in range(2))
    if last <= since or (catch_up == "none" and one_before > since):
        return []
    return [last]


def next_cron_tick(text: str, after: int) -> int:
    """The first instant after another that a cron text says."""
    return micros(croniter(text, as_datetime(after)).get_next(datetime))

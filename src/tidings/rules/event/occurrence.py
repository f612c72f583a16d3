"""Decides whether the event that a rule waits for has happened.

In an open transaction an event is judged by the net change of the slice, as conditions are: a row that comes and goes
is no insertion.  In a table with a primary key a row that goes and one that comes with the same key are an update.
Without a key an update cannot be told from a deletion and an insertion, so all three have happened.

What happened in earlier transactions is read from the log, as far back as ``WITHIN`` asks.  How events are composed is
in :mod:`tidings.rules.event.spans`.

In a transaction the end of an event counts only in the slice that is judged: a rule that ran waits for the next one.
Parts of an AND or THEN may have happened before, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.changes import paired, without_version
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidRule, UnknownColumn, UnknownEvent, UnknownRelation, closest
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Version
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then
from tidings.lang.sql.statements.rule_options import CatchUp
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.spans import Moment, SimpleEvent, reach, spans
from tidings.rules.rule import is_temporal
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class Present:
    """The slice of an open transaction in which an event is looked for, and the instant that counts as now."""

    relations: Relations
    tx_slice: TransactionSlice
    statement_ends: Sequence[int]
    """The places in the transaction where statements and actions ended."""
    now: int
    since: int = 0
    """What was committed up to this instant does not count: the rule was not there."""


def check(event: Event, relations: Relations, rule: str) -> None:
    """Refuse events of unknown tables, columns and signals, and compositions that are not supported."""
    match event:
        case TableEvent():
            table = relations.find(event.table)
            if table is None:
                raise UnknownRelation(event.place, closest(event.table, relations.names()), name=event.table)
            if not isinstance(table, Table) or table.role != "table":
                reason = f"it waits for changes of {table.name}, and events are of tables"
                raise InvalidRule(event.place, name=rule, reason=reason)
            names = {c.name.lower(): c.name for c in table.columns}
            for column in event.columns:
                if column.lower() not in names:
                    raise UnknownColumn(event.place, closest(column, names.values()), name=column)
        case SignalEvent():
            signal = relations.find(event.name)
            if not isinstance(signal, Table) or signal.role != "event":
                raise UnknownEvent(event.place, name=event.name)
        case Every() | At():
            pass
        case Or(parts=parts):
            for part in parts:
                check(part, relations, rule)
        case And(parts=parts) | Then(parts=parts):
            for part in parts:
                if is_temporal(part):
                    reason = "AND and THEN combine what happens to tables, and signals, not the passing of time"
                    raise InvalidRule(None, name=rule, reason=reason)
                check(part, relations, rule)
        case _:
            assert_never(event)


def tables(event: Event) -> frozenset[str]:
    """The tables and signals that an event names, in lower case."""
    match event:
        case TableEvent():
            return frozenset({event.table.lower()})
        case SignalEvent():
            return frozenset({event.name.lower()})
        case Every() | At():
            return frozenset()
        case Or(parts=parts) | And(parts=parts) | Then(parts=parts):
            return frozenset[str]().union(*map(tables, parts))
        case _:
            assert_never(event)


def happened(event: Event, present: Present) -> bool:
    """Whether an event has happened in a transaction, with its end in the slice that is judged."""
    tx_slice, now = present.tx_slice, max(present.now, present.tx_slice.at + 1)
    reach_back = reach(event)
    statements = _by_statement(tx_slice, present.statement_ends)
    before = TransactionSlice(tx_slice.done, 0, tx_slice.start, tx_slice.at)

    def moments(part: SimpleEvent, by_statement: bool) -> list[Moment]:
        if isinstance(part, Every | At):
            return []
        first = max(now - reach_back - 1, present.since)
        committed = [(t, 0) for t in _instants(part, present.relations, first, tx_slice.at)] if reach_back else []
        slices = statements if by_statement else [before, tx_slice]
        return committed + [(now, s.end) for s in slices if _is_in(part, present.relations, s.changes)]

    return any(time == now and place > tx_slice.start for time, place in spans(event, moments))


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


def _is_in(event: TableEvent | SignalEvent, relations: Relations, changes: NetEntries) -> bool:
    """Whether an event is among the net changes of a slice."""
    table = relations.find(event.table if isinstance(event, TableEvent) else event.name)
    if not isinstance(table, Table) or table.name not in changes:
        return False
    return isinstance(event, SignalEvent) or _is_kind(event, table, changes[table.name])


def _is_kind(event: TableEvent, table: Table, entry: pa.Table) -> bool:
    """Whether net changes of a table include an insertion, deletion or update, as the event asks."""
    if not table.constraints.key:
        signs = {"insert": {True}, "delete": {False}, "update": {True, False}}[event.kind]
        return signs <= {weight > 0 for weight in entry.column(WEIGHT).to_pylist()}
    pairs = paired(entry, table.constraints.key)
    match event.kind:
        case "insert":
            return any(old is None for old, _ in pairs)
        case "delete":
            return any(new is None for _, new in pairs)
        case "update":
            rows, names = row_keys(without_version(entry)), [c.name.lower() for c in table.columns]
            places = [names.index(c.lower()) for c in event.columns] or range(len(names))
            updates = [(rows[old], rows[new]) for old, new in pairs if old is not None and new is not None]
            return any(old[p] != new[p] for old, new in updates for p in places)


def instants(
    event: Event, relations: Relations, since: int, until: int, began: int = 0, catch_up: CatchUp = "all"
) -> list[int]:
    """The instants in ``(since, until]`` at which an event happened in what is committed, in order.

    All of its parts are after the rule that waits for it ``began``.  ``catch_up`` says which ticks count.
    """
    first = max(since - reach(event), min(since, began))

    def moments(part: SimpleEvent, by_statement: bool) -> list[Moment]:
        if isinstance(part, Every):
            return [(time, 0) for time in ticks(part.interval, first, until, catch_up)]
        return [(time, 0) for time in _instants(part, relations, first, until)]

    return sorted(time for time, _ in spans(event, moments) if time > since)


def _instants(event: SimpleEvent, relations: Relations, since: int, until: int) -> list[int]:
    match event:
        case TableEvent() | SignalEvent():
            table = relations.find(event.table if isinstance(event, TableEvent) else event.name)
            if not isinstance(table, Table):
                return []
            start = max(since, table.forgotten)
            return [t for t in table.history.times(start, until) if _is_at(event, table, t)] if start < until else []
        case Every(interval=interval):
            return list(ticks(interval, since, until))
        case At(instant=instant):
            return [instant] if since < instant <= until else []
        case _:
            assert_never(event)


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


def _is_at(event: TableEvent | SignalEvent, table: Table, instant: int) -> bool:
    """Whether an event happened at the instant of a commit."""
    entry = table.source(Version.DELTA, instant - 1, instant).changes
    assert isinstance(entry, pa.Table)
    if isinstance(event, SignalEvent):
        return bool(pc.any(pc.greater(entry.column(WEIGHT), 0)).as_py())
    return _is_kind(event, table, entry)

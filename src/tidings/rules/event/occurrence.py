"""Whether what a rule waits for has happened.

Within a transaction an event is judged by the net change of the stretch, as conditions are: a row that comes and goes
is no insertion.  In a table with a primary key a row that goes and one that comes with the same key are an update.
Without a key an update cannot be told from a deletion and an insertion, so all three have happened.

What happened in earlier transactions is read from the log, as far back as ``WITHIN`` asks.  How events are composed is
in :mod:`tidings.rules.event.spans`.

In a transaction the end of an event counts only in the stretch that is judged: a rule that ran waits for it anew.
Parts of an AND or THEN may have happened before, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.changes import paired
from tidings.engine.row_values import row_keys
from tidings.errors import InvalidRule, UnknownColumn, UnknownEvent, UnknownRelation, closest
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Version
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then
from tidings.rules.condition.transaction_slice import TransactionSlice
from tidings.rules.event.spans import Moment, Plain, reach, spans
from tidings.rules.rule import is_temporal
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class Present:
    """A stretch of a transaction, its statements, and the instant that counts as now."""

    relations: Relations
    tx_slice: TransactionSlice
    ends: Sequence[int]
    """Where statements and actions ended."""
    now: int
    since: int = 0
    """What was committed up to this instant does not count: the rule was not there."""


def check(event: Event, relations: Relations, rule: str) -> None:
    """Refuse events of what is not there, and compositions that cannot be."""
    match event:
        case TableEvent():
            table = relations.find(event.table)
            if not isinstance(table, Table) or table.role != "table":
                raise UnknownRelation(event.place, closest(event.table, relations.names()), name=event.table)
            names = {c.name.lower(): c.name for c in table.columns}
            for column in event.columns:
                if column.lower() not in names:
                    raise UnknownColumn(event.place, closest(column, names.values()), name=column)
        case SignalEvent():
            found = relations.find(event.name)
            if not isinstance(found, Table) or found.role != "event":
                raise UnknownEvent(event.place, name=event.name)
        case Every() | At():
            pass
        case Or(parts=parts):
            for one in parts:
                check(one, relations, rule)
        case And(parts=parts) | Then(parts=parts):
            for one in parts:
                if is_temporal(one):
                    reason = "AND and THEN combine what happens to tables, and signals, not the passing of time"
                    raise InvalidRule(None, name=rule, reason=reason)
                check(one, relations, rule)
        case _:
            assert_never(event)


def tables(event: Event) -> frozenset[str]:
    """What an event names, in small letters."""
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
    """Whether an event has happened in a transaction, its end in the stretch that is judged."""
    tx_slice, now = present.tx_slice, max(present.now, present.tx_slice.at + 1)
    far = reach(event)
    starts = sorted({0, tx_slice.start, *(e for e in present.ends if e < tx_slice.end)})
    steps = [
        tx_slice
        if (first, last) == (tx_slice.start, tx_slice.end)
        else TransactionSlice(tx_slice.done, first, last, tx_slice.at)
        for first, last in zip(starts, [*starts[1:], tx_slice.end], strict=True)
        if first < last
    ]
    before = TransactionSlice(tx_slice.done, 0, tx_slice.start, tx_slice.at)

    def find(one: Plain, stepwise: bool) -> list[Moment]:
        if isinstance(one, Every | At):
            return []
        first = max(now - far - 1, present.since)
        committed = [(t, 0) for t in _instants(one, present.relations, first, tx_slice.at)] if far else []
        here = steps if stepwise else [before, tx_slice]
        return committed + [(now, part.end) for part in here if _in(one, present.relations, part.changes)]

    return any(end[0] == now and end[1] > tx_slice.start for end in spans(event, find))


def _in(event: TableEvent | SignalEvent, relations: Relations, changes: dict[str, pa.Table]) -> bool:
    name = event.table if isinstance(event, TableEvent) else event.name
    found = relations.find(name)
    if not isinstance(found, Table) or found.name not in changes:
        return False
    return isinstance(event, SignalEvent) or _is(event, found, changes[found.name])


def _is(event: TableEvent, table: Table, entry: pa.Table) -> bool:
    """Whether net changes of a table are of a kind."""
    weights = entry.column(WEIGHT).to_pylist()
    if not table.constraints.key:
        wanted = {"insert": {True}, "delete": {False}, "update": {True, False}}[event.kind]
        return wanted <= {w > 0 for w in weights}
    pairs = paired(entry, table.constraints.key)
    match event.kind:
        case "insert":
            return any(old is None for old, _ in pairs)
        case "delete":
            return any(new is None for _, new in pairs)
        case "update":
            rows, names = row_keys(entry.drop_columns([TIME, WEIGHT])), [c.name.lower() for c in table.columns]
            places = [names.index(c.lower()) for c in event.columns] or range(len(names))
            both = [(rows[old], rows[new]) for old, new in pairs if old is not None and new is not None]
            return any(old[p] != new[p] for old, new in both for p in places)


def instants(event: Event, relations: Relations, since: int, until: int, created: int = 0) -> list[int]:
    """The instants in ``(since, until]`` at which an event happened in what is committed, in order.

    All of it is after the rule that waits for it was ``created``.
    """
    first = max(since - reach(event), min(since, created))

    def find(one: Plain, stepwise: bool) -> list[Moment]:
        return [(t, 0) for t in _instants(one, relations, first, until)]

    return sorted(end[0] for end in spans(event, find) if end[0] > since)


def _instants(event: Plain, relations: Relations, since: int, until: int) -> list[int]:
    match event:
        case TableEvent() | SignalEvent():
            table = relations.find(event.table if isinstance(event, TableEvent) else event.name)
            if not isinstance(table, Table):
                return []
            start = max(since, table.forgotten)
            return [t for t in table.times(start, until) if _at(event, table, t)] if start < until else []
        case Every(interval=interval):
            first = (since // interval + 1) * interval
            return list(range(first, until + 1, interval))
        case At(instant=instant):
            return [instant] if since < instant <= until else []
        case _:
            assert_never(event)


def _at(event: TableEvent | SignalEvent, table: Table, instant: int) -> bool:
    rows = table.source(Version.DELTA, instant - 1, instant).changes
    assert isinstance(rows, pa.Table)
    if isinstance(event, SignalEvent):
        return bool(pc.any(pc.greater(rows.column(WEIGHT), 0)).as_py())
    return _is(event, table, rows)

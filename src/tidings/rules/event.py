"""Whether what a rule waits for has happened.

Within a transaction an event is judged by the net change of the stretch, as conditions are: a row that comes and goes
is no insertion.  In a table with a primary key a row that goes and one that comes with the same key are an update.
Without a key an update cannot be told from a deletion and an insertion, so all three have happened.

What happened in earlier transactions is read from the log, as far back as ``WITHIN`` asks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.plain import row_keys
from tidings.errors import InvalidRule, UnknownColumn, UnknownEvent, UnknownRelation, closest
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Version
from tidings.lang.sql.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then
from tidings.rules.rule import is_temporal
from tidings.rules.stretch import Stretch, paired
from tidings.store.catalog import Catalog
from tidings.store.table import Table


@dataclass(frozen=True, slots=True)
class Present:
    """A stretch of a transaction, its statements, and the instant that counts as now."""

    catalog: Catalog
    stretch: Stretch
    ends: Sequence[int]
    """Where statements and actions ended."""
    now: int


def check(event: Event, catalog: Catalog, rule: str) -> None:
    """Refuse events of what is not there, and compositions that cannot be."""
    match event:
        case TableEvent():
            table = catalog.find(event.table)
            if not isinstance(table, Table) or table.role != "table":
                raise UnknownRelation(event.place, closest(event.table, catalog.names()), name=event.table)
            names = {c.name.lower(): c.name for c in table.columns}
            for column in event.columns:
                if column.lower() not in names:
                    raise UnknownColumn(event.place, closest(column, names.values()), name=column)
        case SignalEvent():
            found = catalog.find(event.name)
            if not isinstance(found, Table) or found.role != "event":
                raise UnknownEvent(event.place, name=event.name)
        case Every() | At():
            pass
        case Or(parts=parts):
            for one in parts:
                check(one, catalog, rule)
        case And(parts=parts) | Then(parts=parts):
            for one in parts:
                if isinstance(one, And | Then) or is_temporal(one):
                    reason = "AND and THEN combine what happens to tables, signals, and alternatives of them"
                    raise InvalidRule(None, name=rule, reason=reason)
                check(one, catalog, rule)
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
    """Whether an event has happened in a stretch of a transaction."""
    match event:
        case TableEvent() | SignalEvent():
            return _in(event, present.catalog, present.stretch.changes)
        case Every() | At():
            return False
        case Or(parts=parts):
            return any(happened(one, present) for one in parts)
        case And(parts=parts, within=None):
            return all(happened(one, present) for one in parts)
        case And(parts=parts, within=limit):
            assert limit is not None
            now = [happened(one, present) for one in parts]
            since = present.now - limit
            return any(now) and all(
                is_now or bool(instants(one, present.catalog, since, present.stretch.at))
                for one, is_now in zip(parts, now, strict=True)
            )
        case Then():
            return _in_order(event, present)
        case _:
            assert_never(event)


def _in_order(event: Then, present: Present) -> bool:
    """Whether things happened one after the other, the last of them in this stretch."""
    if not happened(event.parts[-1], present):
        return False
    starts = [present.stretch.start, *(e for e in present.ends if e > present.stretch.start)]
    steps = [
        Present(present.catalog, Stretch(present.stretch.done, a, b, present.stretch.at), (), present.now)
        for a, b in zip(starts, [*starts[1:], present.stretch.end], strict=True)
        if a < b
    ]
    reached = len(steps)
    for n in range(len(event.parts) - 1, -1, -1):
        step = next((s for s in range(reached - 1, -1, -1) if happened(event.parts[n], steps[s])), None)
        if step is None:
            return event.within is not None and n < len(event.parts) - 1 and _earlier(event, n, present)
        reached = step
    return True


def _earlier(event: Then, last: int, present: Present) -> bool:
    """Whether the first parts of a sequence, up to one of them, happened in earlier transactions, in order."""
    assert event.within is not None
    before, since = present.stretch.at + 1, present.now - event.within
    for part in reversed(event.parts[: last + 1]):
        found = instants(part, present.catalog, since, before - 1)
        if not found:
            return False
        before = found[-1]
    return True


def _in(event: TableEvent | SignalEvent, catalog: Catalog, changes: dict[str, pa.Table]) -> bool:
    name = event.table if isinstance(event, TableEvent) else event.name
    found = catalog.find(name)
    if not isinstance(found, Table) or found.name not in changes:
        return False
    return isinstance(event, SignalEvent) or _is(event, found, changes[found.name])


def _is(event: TableEvent, table: Table, entry: pa.Table) -> bool:
    """Whether net changes of a table are of a kind."""
    weights = entry.column(WEIGHT).to_pylist()
    if not table.constraints.key:
        wanted = {"insert": {True}, "delete": {False}, "update": {True, False}}[event.kind]
        return wanted <= {w > 0 for w in weights}
    pairs = paired(entry, table.columns, table.constraints.key)
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


def instants(event: Event, catalog: Catalog, since: int, until: int) -> list[int]:
    """The instants in ``(since, until]`` at which an event happened in what is committed, in order."""
    match event:
        case TableEvent() | SignalEvent():
            table = catalog.find(event.table if isinstance(event, TableEvent) else event.name)
            if not isinstance(table, Table):
                return []
            start = max(since, table.forgotten)
            return [t for t in table.times(start, until) if _at(event, table, t)] if start < until else []
        case Every(interval=interval):
            first = (since // interval + 1) * interval
            return list(range(first, until + 1, interval))
        case At(instant=instant):
            return [instant] if since < instant <= until else []
        case Or(parts=parts):
            return sorted({t for one in parts for t in instants(one, catalog, since, until)})
        case And(parts=parts, within=limit) | Then(parts=parts, within=limit):
            apart = limit or 0
            found = [instants(one, catalog, since - apart, until) for one in parts]
            ends = found[-1] if isinstance(event, Then) else sorted({t for times in found for t in times})
            return [t for t in ends if t > since and _together(event, found, t, apart)]
        case _:
            assert_never(event)


def _together(event: And | Then, found: list[list[int]], end: int, apart: int) -> bool:
    """Whether all parts happened up to an instant, not too far apart; of a THEN within one commit no order is known."""
    reached = end
    for times in reversed(found):
        place = bisect_right(times, end if isinstance(event, And) else reached)
        if not place or times[place - 1] < end - apart:
            return False
        reached = times[place - 1]
    return True


def _at(event: TableEvent | SignalEvent, table: Table, instant: int) -> bool:
    rows = table.source(Version.DELTA, instant - 1, instant).changes
    assert isinstance(rows, pa.Table)
    if isinstance(event, SignalEvent):
        return bool(pc.any(pc.greater(rows.column(WEIGHT), 0)).as_py())
    return _is(event, table, rows)

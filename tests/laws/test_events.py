"""The spans of composed events are those that one finds by trying all ways to put their parts together."""

from __future__ import annotations

from random import Random
from typing import assert_never

import pytest

from tests.laws import plain_events
from tests.laws.plain_events import SECOND, Moment, PlainEvent, random_event
from tests.laws.seeds import chunks
from tidings.lang.sql.statements.event import And, At, Event, Every, Or, SignalEvent, TableEvent, Then
from tidings.rules.event.spans import SimpleEvent, spans


def named(leaf: SimpleEvent) -> str:
    match leaf:
        case TableEvent():
            return f"{leaf.kind} {leaf.table}"
        case SignalEvent():
            return f"signal {leaf.name}"
        case Every() | At():
            raise AssertionError("time passes elsewhere")
        case _:
            assert_never(leaf)


def same(event: PlainEvent) -> Event:
    """The same event, for those who are to be checked."""
    within = None if event.within is None else event.within * SECOND
    parts = tuple(map(same, event.parts))
    match event.kind:
        case "signal":
            return SignalEvent(event.table)
        case "insert" | "delete" | "update":
            return TableEvent(event.kind, event.table)
        case "or":
            return Or(parts)
        case "and":
            return And(parts, within)
        case "then":
            return Then(parts, within)


def check(seed: int) -> int:
    """One event over some transactions, the last of which is open; how many spans it has."""
    random = Random(seed)
    event = random_event(random, late=False)
    while not event.parts:
        event = random_event(random, late=False)
    open_one, steps = random.randint(0, 4), random.randint(1, 4)
    times = [0]
    for _ in range(open_one):
        times.append(times[-1] + random.choice((1, 10, 20)))
    places: list[Moment] = [(n, 0) for n in range(open_one)] + [(open_one, s) for s in range(1, steps + 1)]
    names = {f"{leaf.kind} {leaf.table}" for leaf in event.leaves}
    happened = {name: [p for p in places if random.random() < 0.4] for name in sorted(names)}
    whole = (open_one, steps)

    def seen(name: str, by_statement: bool) -> list[Moment]:
        """Without steps all that the open transaction did is one moment."""
        found = happened[name]
        return found if by_statement else sorted({m if m[0] < open_one else whole for m in found})

    def moments(leaf: SimpleEvent, by_statement: bool) -> list[Moment]:
        return [(times[n] * SECOND, place) for n, place in seen(named(leaf), by_statement)]

    expected: dict[Moment, Moment] = {}
    for begin, end in plain_events.spans(event, lambda e, s: seen(f"{e.kind} {e.table}", s), times.__getitem__):
        expected[end] = max(begin, expected.get(end, begin))
    instants = {time * SECOND: n for n, time in enumerate(times)}
    found = {(instants[e[0]], e[1]): (instants[b[0]], b[1]) for e, b in spans(same(event), moments).items()}
    assert found == expected, (seed, event.text, happened)
    return len(found)


@pytest.mark.parametrize("seeds", chunks(20_000, quick=4_000, size=4_000))
def test_spans_are_those_one_finds_by_trying(seeds: range) -> None:
    assert sum(map(check, seeds)) > len(seeds) // 4

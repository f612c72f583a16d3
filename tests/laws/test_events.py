"""Composed events happen when a plain interpreter says so, in every context, and however a history is cut."""

from __future__ import annotations

import json
from random import Random

import pytest
import sqlglot

from tests.laws import plain_events
from tests.laws.plain_events import CONTEXTS, SECOND, Moment, PlainEvent, random_event
from tests.laws.seeds import chunks
from tidings.ir.dialect import DIALECT
from tidings.lang.sql.statements.event import Event, SignalEvent, TableEvent, Ticks, read_event, walk
from tidings.lang.sql.statements.token_reader import TokenReader
from tidings.rules.event.detector import Detector
from tidings.rules.event.spans import spans


def read(event: PlainEvent) -> Event:
    """The same event, for those who are to be checked, from its text."""
    return read_event(TokenReader(event.text, sqlglot.tokenize(event.text, read=DIALECT)))


def named(leaf: TableEvent | SignalEvent) -> str:
    return f"{leaf.kind} {leaf.table}" if isinstance(leaf, TableEvent) else f"signal {leaf.event}"


def check_spans(seed: int) -> int:
    """One event of one transaction, of some that are committed and one that is open; how many spans it has."""
    random = Random(seed)
    event = random_event(random, late=False, several=False)
    while not event.parts:
        event = random_event(random, late=False, several=False)
    open_one, steps = random.randint(0, 4), random.randint(1, 4)
    places: list[Moment] = [(n, 0) for n in range(open_one)] + [(open_one, s) for s in range(1, steps + 1)]
    names = {f"{leaf.kind} {leaf.table}" for leaf in event.leaves}
    happened = {name: [p for p in places if random.random() < 0.4] for name in sorted(names)}
    whole = (open_one, steps)

    def seen(name: str, by_statement: bool) -> list[Moment]:
        """Without steps all that the open transaction did is one moment."""
        found = happened[name]
        return found if by_statement else sorted({m if m[0] < open_one else whole for m in found})

    expected: dict[Moment, Moment] = {}
    for begin, end in plain_events.spans(event, lambda e, s: seen(f"{e.kind} {e.table}", s)):
        expected[end] = max(begin, expected.get(end, begin))
    found = spans(read(event), lambda leaf, by_statement: seen(named(leaf), by_statement))
    assert found == expected, (seed, event.text, happened)
    return len(found)


@pytest.mark.parametrize("seeds", chunks(8_000, quick=2_000, size=2_000))
def test_spans_are_those_one_finds_by_trying(seeds: range) -> None:
    assert sum(map(check_spans, seeds)) > len(seeds) // 4


def check_happenings(seed: int) -> int:
    """One event of several transactions over a history that is cut into pieces; how often it happened."""
    random = Random(seed)
    event = random_event(random, late=True, timed=True)
    while event.is_local:
        event = random_event(random, late=True, timed=True)
    context = random.choice(CONTEXTS)
    until = random.randint(20, 120) * SECOND
    transactions = sorted(random.sample(range(SECOND, until, SECOND // 2), random.randint(3, 14)))
    detector = Detector(read(event), context)
    simple = [shown(each) for each in detector.simple]
    names = [text for text, each in zip(simple, detector.simple, strict=True) if not isinstance(each, Ticks)]
    happened = {name: [t for t in transactions if random.random() < 0.5] for name in dict.fromkeys(names)}
    numbers: dict[int, list[int]] = {}
    for number, name in enumerate(simple):
        for t in happened.get(name, ()):
            numbers.setdefault(t, []).append(number)
    plain = plain_events.happenings(event, context, lambda leaf: happened[shown(read(leaf))], until)
    expected = [(each.begin, each.end, {(shown(read(leaf)), t) for leaf, t in each.parts}) for each in plain]
    found, since = list[tuple[int, int, set[tuple[str, int]]]](), 0
    for cut in sorted({*random.choices(range(until), k=random.randint(0, 3)), until}):
        ended = detector.run(since, cut, {t: n for t, n in numbers.items() if since < t <= cut})
        found += [(each.begin, each.end, {(simple[n], t) for n, t in each.parts}) for each in ended]
        kept = json.loads(json.dumps(detector.as_json()))
        detector, since = Detector(read(event), context), cut
        detector.restore(kept)
    assert found == expected, (seed, event.text, context, happened)
    return len(found)


def shown(event: Event) -> str:
    """An event by what it is, without its place in a text."""
    return " ".join(
        named(part) if isinstance(part, TableEvent | SignalEvent) else type(part).__name__ for part in walk(event)
    )


@pytest.mark.parametrize("seeds", chunks(8_000, quick=2_000, size=2_000))
def test_events_happen_when_a_plain_interpreter_says(seeds: range) -> None:
    assert sum(map(check_happenings, seeds)) > len(seeds)

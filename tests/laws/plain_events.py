"""Events of rules, interpreted plainly: all ways in which the parts of an event may have happened are tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, Literal

Bag = Counter[tuple[Any, ...]]
State = dict[str, Bag]
"""All rows of all tables, and of the event ``e``."""

Moment = tuple[int, int]
"""The number of a transaction, and of a step in the one that is open."""

Span = tuple[Moment, Moment]

KEYED = "c"
SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class PlainEvent:
    """What a rule waits for: something of one table, or several events composed."""

    kind: Literal["insert", "delete", "update", "signal", "or", "and", "then"]
    table: str = "e"
    parts: tuple[PlainEvent, ...] = ()
    within: int | None = None
    """In seconds."""

    @property
    def text(self) -> str:
        """What stands after ON."""
        if not self.parts:
            words = {"insert": "INSERT INTO", "delete": "DELETE FROM", "update": "UPDATE OF", "signal": "SIGNAL"}
            return f"{words[self.kind]} {self.table}"
        listed = f" {self.kind.upper()} ".join(f"({p.text})" if p.parts else p.text for p in self.parts)
        return listed if self.within is None else f"{listed} WITHIN INTERVAL {self.within} SECONDS"

    @property
    def leaves(self) -> list[PlainEvent]:
        return [leaf for part in self.parts for leaf in part.leaves] if self.parts else [self]

    def is_in(self, before: State, after: State) -> bool:
        """Whether something is what lies between two states."""
        came, went = after[self.table] - before[self.table], before[self.table] - after[self.table]
        match self.kind:
            case "signal":
                return bool(came)
            case "insert" | "delete" if self.table == KEYED:
                one, other = (came, went) if self.kind == "insert" else (went, came)
                return bool({r[0] for r in one} - {r[0] for r in other})
            case "update" if self.table == KEYED:
                return bool({r[0] for r in came} & {r[0] for r in went})
            case kind:
                return {"insert": bool(came), "delete": bool(went), "update": bool(came and went)}[kind]


Find = Callable[[PlainEvent, bool], Iterable[Moment]]


def spans(event: PlainEvent, find: Find, time: Callable[[int], int], stepwise: bool = False) -> set[Span]:
    """Every span of an event."""
    if not event.parts:
        return {(m, m) for m in find(event, stepwise)}
    found = [spans(p, find, time, stepwise or event.kind == "then") for p in event.parts]
    if event.kind == "or":
        return set().union(*found)
    whole = found[0]
    for more in found[1:]:
        whole = {
            (min(one[0], other[0]), max(one[1], other[1]))
            for one, other in product(whole, more)
            if (event.kind == "and" or one[1] < other[0]) and (event.within is not None or one[1][0] == other[1][0])
        }
        if event.within is not None:
            whole = {(b, e) for b, e in whole if time(e[0]) - time(b[0]) <= event.within}
    return whole


def random_event(random: Random, *, late: bool, depth: int = 2) -> PlainEvent:
    """An event; ``late`` if it is looked for after commits, when the order within one is not known."""
    if depth == 0 or random.random() < 0.4:
        if random.random() < 0.4:
            return PlainEvent("signal")
        return PlainEvent(random.choice(("insert", "insert", "delete", "update")), random.choice(("a", "b", KEYED)))
    kind: Literal["or", "and", "then"] = random.choice(("or", "and", "then"))
    parts = tuple(random_event(random, late=late, depth=depth - 1) for _ in range(random.choice((2, depth + 1))))
    must = kind == "then" and late
    within = random.choice((5, 15, 45)) if kind != "or" and (must or random.random() < 0.6) else None
    return PlainEvent(kind, parts=parts, within=within)

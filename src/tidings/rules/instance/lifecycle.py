"""The life of an instance: when it counts as begun, and when as gone.

    holds     ┌──┐     ┌──────────────┐  ┌─────┐
              │  │     │              │  │     │
    ──────────┘  └─────┘              └──┘     └───────────────▶ time
              nothing  ├─for─▶ begins             ├─keep_alive─▶ gone

- *pending*: it holds, but not yet for as long as ``for`` asks.  If it ceases, nothing was.
- *alive*: that it begins has been told.
- *lingering*: it holds no more, but not for as long as ``keep_alive`` asks.  If it holds again, nothing was.

Both intervals are nothing unless they are given, and then an instance begins and goes at once.  Where something happens
at the very instant at which an instance is due, that counts first: what ceases just then has not held for long enough,
and what comes back just then was never gone.

Time is the instants of commits and deadlines, not when somebody looks: :func:`lived` gives the same whether a history
is judged at once or bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import pyarrow as pa

from tidings.store.rules.instances import Instance

Counts = Callable[[int], bool]
"""Whether what happens at an instant counts."""


@dataclass(frozen=True, slots=True)
class Span:
    """What a life is measured by, in microseconds."""

    hold: int = 0
    """An instance counts once it has held for so long."""
    keep: int = 0
    """It is gone once it has not held for so long."""


@dataclass(frozen=True, slots=True)
class InstanceChange:
    """At an instant, an instance has so many rows more or less; ``row`` is one that came, or one that went."""

    key: str
    at: int
    count: int
    row: pa.Table


@dataclass(frozen=True, slots=True)
class Told:
    """An instance began, or is gone; ``at`` is when that is told."""

    at: int
    gone: bool
    instance: Instance


@dataclass(slots=True)
class _Life:
    """One instance through a batch."""

    span: Span
    one: Instance | None
    told: list[Told] = field(default_factory=list)

    def until(self, instant: int) -> None:
        """Let time pass, up to and with an instant."""
        while self.one is not None and self.one.due is not None and self.one.due <= instant:
            at, one = self.one.due, replace(self.one, due=None)
            match one.phase:
                case "pending":
                    self.one = replace(one, phase="alive")
                    self.told.append(Told(at, False, self.one))
                case "lingering":
                    self.one = None
                    self.told.append(Told(at, True, one))
                case "alive":
                    raise AssertionError("what is alive waits for nothing")
                case _:
                    assert_never(one.phase)

    def change(self, change: InstanceChange, begins: bool, ends: bool) -> None:
        """Let rows come or go; whether a beginning or an end at that instant counts."""
        self.until(change.at - 1)
        one = self.one
        if one is None:
            if change.count > 0:
                self.one = self._begun(change, begins)
            return
        now = replace(one, count=max(0, one.count + change.count), row=change.row)
        if now.count and one.count:
            self.one = now
        elif now.count:
            self.one = replace(now, phase="alive", ended=None, due=None)
        elif one.count:
            self.one = self._ended(now, change.at) if ends and one.phase == "alive" else None

    def _begun(self, change: InstanceChange, counts: bool) -> Instance:
        first = Instance(change.key, "alive", change.count, change.row, change.at, quiet=not counts)
        return replace(first, phase="pending", due=change.at + self.span.hold) if counts else first

    def _ended(self, one: Instance, at: int) -> Instance:
        return replace(one, phase="lingering", ended=at, due=at + self.span.keep)


def lived(
    known: Iterable[Instance], changes: Iterable[InstanceChange], until: int, span: Span, begins: Counts, ends: Counts
) -> tuple[list[Told], Mapping[str, Instance | None]]:
    """What is to be told up to an instant, in order, and what became of the instances that something happened to.

    ``changes`` are in the order of time, one per key and instant.
    """
    before = {one.key: one for one in known}
    lives = {key: _Life(span, one) for key, one in before.items()}
    for change in changes:
        life = lives.setdefault(change.key, _Life(span, None))
        life.change(change, begins(change.at), ends(change.at))
    for life in lives.values():
        life.until(until)
    became = {key: life.one for key, life in lives.items() if life.one is not before.get(key)}
    told = sorted((t for life in lives.values() for t in life.told), key=lambda t: (t.at, t.gone))
    return told, became

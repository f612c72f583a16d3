"""The operators of composed events, each a node that is told what happened, instant by instant.

A node keeps what may still become an event, and says what ended at the instant: see the equations in ``docs/rules.md``.
Its inputs are told first.  What ends something counts before what begins something at the same instant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tidings.rules.event.happening import Happening
from tidings.rules.event.windows import EventWindow, EventWindows


class EventNode(ABC):
    """One operator, with its inputs below it."""

    inputs: tuple[EventNode, ...]

    @abstractmethod
    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        """What ends at an instant, given the numbers of the simple events that happen at it."""

    def due(self, after: int) -> int | None:
        """The first instant after another at which something ends by itself, if nothing happens before."""
        return min((due for node in self.inputs if (due := node.due(after)) is not None), default=None)

    def kept(self) -> list[Any]:
        """What is to be kept of this node alone."""
        return []

    def restore(self, value: list[Any]) -> None:
        """Take up what was kept of this node alone."""
        assert not value

    def oldest(self) -> int | None:
        """The earliest instant of a part that may still become one of an event."""
        return min((oldest for node in self.inputs if (oldest := node.oldest()) is not None), default=None)


@dataclass(slots=True)
class SimpleNode(EventNode):
    """A simple event, or what is composed within one transaction."""

    number: int
    inputs: tuple[EventNode, ...] = ()

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        return [Happening(instant, instant, ((self.number, instant),))] if self.number in happened else []


@dataclass(slots=True)
class OrNode(EventNode):
    """One of several happens."""

    inputs: tuple[EventNode, ...]

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        return [each for node in self.inputs for each in node.step(instant, happened)]


@dataclass(slots=True)
class _WindowNode(EventNode):
    """An operator with windows that its first input opens."""

    inputs: tuple[EventNode, ...]
    windows: EventWindows

    def kept(self) -> list[Any]:
        return self.windows.as_json()

    def restore(self, value: list[Any]) -> None:
        self.windows.restore(value)

    def oldest(self) -> int | None:
        own = [instant for window in self.windows.windows for _, instant in window.opening.parts]
        return _earliest(own, EventNode.oldest(self))


@dataclass(slots=True)
class ThenNode(_WindowNode):
    """One happens, then another, within some time; none of what is forbidden ends between them."""

    within: int | None
    has_forbidden: bool = False
    """Whether the last input must not happen in between."""

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        first, second, *forbidden = (node.step(instant, happened) for node in self.inputs)
        if self.within is not None:
            earliest = instant - self.within
            self.windows.keep(lambda opening: opening.begin >= earliest)
        found: list[Happening] = []
        for end in second:
            groups = self.windows.chosen(partial(_is_before, end))
            found += [Happening.together([*(w.opening for w in group), end]) for group in groups]
            self.windows.use(groups)
        if self.has_forbidden and forbidden[0]:
            self.windows.keep(lambda opening: opening.end >= instant)
        self.windows.open(first)
        return found


@dataclass(slots=True)
class EachNode(_WindowNode):
    """Something happens between two others: told at once each time, or all of it together at the end."""

    at_end: bool
    """Whether what happened in between is told together, at the end."""

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        openings, closings, *inside = (node.step(instant, happened) for node in self.inputs)
        found = self._closed(closings)
        for each in self._between(instant, inside):
            found += self._told(each)
        self.windows.open(openings)
        return found

    def _between(self, instant: int, inside: list[list[Happening]]) -> list[Happening]:
        """What happened that may be inside of windows."""
        return inside[0]

    def _is_inside(self, opening: Happening, each: Happening) -> bool:
        """Whether something that happened is inside of the window that was opened."""
        return opening.end < each.begin

    def _closed(self, closings: list[Happening]) -> list[Happening]:
        """Close windows; what was inside of them, if it is told at the end."""
        found: list[Happening] = []
        for closing in closings:
            groups = self.windows.chosen(partial(_is_before, closing))
            if self.at_end:
                found += [Happening.together([*_all_of(group), closing]) for group in groups]
            closed = {id(window) for group in groups for window in group}
            self.windows.windows = [window for window in self.windows.windows if id(window) not in closed]
        return found

    def _told(self, each: Happening) -> list[Happening]:
        """Something happened inside of windows: it is kept for the end, or told."""
        if self.at_end:
            for window in self.windows.windows:
                if self._is_inside(window.opening, each):
                    window.inside.append(each)
            return []
        groups = self.windows.chosen(lambda opening: self._is_inside(opening, each))
        return [Happening.together([*(w.opening for w in group), each]) for group in groups]


def _is_before(later: Happening, opening: Happening) -> bool:
    return opening.end < later.begin


def _all_of(group: list[EventWindow]) -> list[Happening]:
    return [each for window in group for each in (window.opening, *window.inside)]


@dataclass(slots=True)
class PeriodicNode(EachNode):
    """Ticks between two others, counted from the first: told at once each time, or all of them together at the end."""

    number: int
    interval: int

    def _between(self, instant: int, inside: list[list[Happening]]) -> list[Happening]:
        return [Happening(instant, instant, ((self.number, instant),))]

    def _is_inside(self, opening: Happening, each: Happening) -> bool:
        return opening.end < each.end and (each.end - opening.end) % self.interval == 0

    def due(self, after: int) -> int | None:
        own = [w.opening.end + _next_multiple(after - w.opening.end, self.interval) for w in self.windows.windows]
        return _earliest(own, EventNode.due(self, after))


def _next_multiple(after: int, interval: int) -> int:
    """The first multiple of an interval that is greater than a number, and than zero."""
    return (max(after, 0) // interval + 1) * interval


@dataclass(slots=True)
class PlusNode(EventNode):
    """Some time has passed since something happened."""

    inputs: tuple[EventNode, ...]
    interval: int
    waiting: list[Happening] = field(default_factory=list)

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        over = [each for each in self.waiting if each.end + self.interval <= instant]
        self.waiting = [each for each in self.waiting if each.end + self.interval > instant]
        self.waiting += self.inputs[0].step(instant, happened)
        return [Happening(instant, each.begin, each.parts) for each in over]

    def due(self, after: int) -> int | None:
        return _earliest([each.end + self.interval for each in self.waiting], EventNode.due(self, after))

    def kept(self) -> list[Any]:
        return [each.as_json() for each in self.waiting]

    def restore(self, value: list[Any]) -> None:
        self.waiting = [*map(Happening.of_json, value)]

    def oldest(self) -> int | None:
        return _earliest([instant for each in self.waiting for _, instant in each.parts], EventNode.oldest(self))


def _earliest(instants: list[int], other: int | None) -> int | None:
    return min([*instants, *([] if other is None else [other])], default=None)

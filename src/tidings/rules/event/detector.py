"""Detects composed events: from the instants of simple ones to those at which the whole happened.

What happens in one transaction happens at one instant.  An ``AND`` or ``THEN`` without ``WITHIN`` is of one
transaction, so to the operators above it is like a simple event: it happened in the transaction, or not.

A detector remembers what may still become an event.  That can be kept as JSON, and taken up by another detector of the
same event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, assert_never

from tidings.lang.sql.statements.event import (
    Absent,
    And,
    AnyOf,
    At,
    Between,
    Cron,
    Event,
    Every,
    Or,
    Plus,
    SignalEvent,
    TableEvent,
    Then,
    Ticks,
    Times,
    parts,
)
from tidings.lang.sql.statements.rule_options import EventContext
from tidings.rules.event.gathering import GatherNode
from tidings.rules.event.happening import Happening
from tidings.rules.event.nodes import EachNode, EventNode, OrNode, PeriodicNode, PlusNode, SimpleNode, ThenNode
from tidings.rules.event.windows import EventWindows


def is_local(event: Event) -> bool:
    """Whether an event happens in one transaction, and is found by looking at that alone."""
    match event:
        case TableEvent() | SignalEvent():
            return True
        case Or():
            return all(map(is_local, event.parts))
        case And() | Then() | AnyOf():
            return event.within is None and all(map(is_local, event.parts))
        case _:
            return False


@dataclass(slots=True)
class Detector:
    """Detects one event."""

    event: Event
    context: EventContext = "chronicle"
    simple: list[Event] = field(init=False, default_factory=list)
    """The events that are looked for in transactions and on the clock, by number."""
    _root: EventNode = field(init=False)

    def __post_init__(self) -> None:
        self._root = self._node(self.event)

    @property
    def remembers(self) -> bool:
        """Whether what happened earlier matters."""
        return any(not isinstance(node, SimpleNode | OrNode) for node in self._nodes())

    def step(self, instant: int, happened: Collection[int]) -> list[Happening]:
        """What ends at an instant, given the numbers of the simple events that happen at it."""
        return self._root.step(instant, happened)

    def run(self, since: int, until: int, instants: Mapping[int, Collection[int]]) -> Iterator[Happening]:
        """What ends in ``(since, until]``, given the simple events of each instant by their numbers."""
        later, at = sorted(instants, reverse=True), since
        while True:
            due = self._root.due(at)
            upcoming = [instant for instant in (later[-1] if later else None, due) if instant is not None]
            if not upcoming or (at := min(upcoming)) > until:
                return
            if later and later[-1] == at:
                later.pop()
            yield from self.step(at, instants.get(at, ()))

    def due(self, after: int) -> int | None:
        """The next instant after another at which something ends by itself, if nothing happens before."""
        return self._root.due(after)

    def oldest(self) -> int | None:
        """The earliest instant of what may still become an event."""
        return self._root.oldest()

    def copy(self) -> Detector:
        """A detector that remembers the same, and may go on by itself."""
        return deepcopy(self)

    def as_json(self) -> list[Any]:
        """What is remembered."""
        return [node.kept() for node in self._nodes()]

    def restore(self, value: list[Any]) -> None:
        """Take up what was remembered."""
        for node, kept in zip(self._nodes(), value, strict=True):
            node.restore(kept)

    def _nodes(self) -> list[EventNode]:
        nodes = [self._root]
        for node in nodes:
            nodes += node.inputs
        return nodes

    # from events to nodes

    def _node(self, event: Event) -> EventNode:
        if is_local(event) and not isinstance(event, Or):
            return self._simple(event)
        match event:
            case TableEvent() | SignalEvent() | Every() | Cron() | At():
                return self._simple(event)
            case Or():
                return OrNode(self._below(event))
            case And():
                return GatherNode(self._below(event), len(event.parts), event.within, self.context)
            case AnyOf():
                return GatherNode(self._below(event), event.count, event.within, self.context)
            case Times():
                return GatherNode(self._below(event), event.count, event.within, self.context)
            case Then():
                within = event.within
                return reduce(lambda a, b: ThenNode((a, b), EventWindows(self.context), within), self._below(event))
            case Absent():
                return ThenNode(self._below(event), EventWindows(self.context), event.within, has_forbidden=True)
            case Between():
                return EachNode(self._below(event), EventWindows(self.context), event.at_end)
            case Ticks():
                number = self._simple(event).number
                below = self._below(event)
                return PeriodicNode(below, EventWindows(self.context), event.at_end, number, event.interval)
            case Plus():
                return PlusNode(self._below(event), event.interval)
            case _:
                assert_never(event)

    def _below(self, event: Event) -> tuple[EventNode, ...]:
        return tuple(map(self._node, parts(event)))

    def _simple(self, event: Event) -> SimpleNode:
        self.simple.append(event)
        return SimpleNode(len(self.simple) - 1)

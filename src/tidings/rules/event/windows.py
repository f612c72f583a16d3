"""What may still become an event: happenings that opened a window, and how a context chooses among them.

=============  ==========================================================================
context        which windows an event that ends one is composed with
=============  ==========================================================================
recent         the last that was opened; it stays open until another one is
chronicle      the first that was opened; it is used once
continuous     each that is open, by itself; each is used once
cumulative     all that are open, together; each is used once
=============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, assert_never

from tidings.lang.sql.statements.rule_options import EventContext
from tidings.rules.event.happening import Happening


@dataclass(slots=True)
class EventWindow:
    """A happening that opened a window, and what happened in it."""

    opening: Happening
    inside: list[Happening] = field(default_factory=list)


@dataclass(slots=True)
class EventWindows:
    """The windows that are open, in the order in which they were opened."""

    context: EventContext
    windows: list[EventWindow] = field(default_factory=list)

    def open(self, happenings: Iterable[Happening]) -> None:
        """Open a window for each happening; a recent one takes the place of all others."""
        for happening in happenings:
            if self.context == "recent":
                self.windows.clear()
            self.windows.append(EventWindow(happening))

    def keep(self, is_kept: Callable[[Happening], bool]) -> None:
        """Close the windows whose opening does not pass."""
        self.windows = [window for window in self.windows if is_kept(window.opening)]

    def chosen(self, is_fit: Callable[[Happening], bool]) -> list[list[EventWindow]]:
        """The windows that fit an event, as the context groups them: each group composes one happening."""
        fit = [window for window in self.windows if is_fit(window.opening)]
        if not fit:
            return []
        match self.context:
            case "recent":
                return [fit[-1:]]
            case "chronicle":
                return [fit[:1]]
            case "continuous":
                return [[window] for window in fit]
            case "cumulative":
                return [fit]
            case _:
                assert_never(self.context)

    def use(self, groups: list[list[EventWindow]]) -> None:
        """Close windows that were used; recent ones stay open."""
        if self.context != "recent":
            used = {id(window) for group in groups for window in group}
            self.windows = [window for window in self.windows if id(window) not in used]

    def as_json(self) -> list[Any]:
        """The windows as lists, as the catalog keeps them."""
        return [[w.opening.as_json(), [inside.as_json() for inside in w.inside]] for w in self.windows]

    def restore(self, value: list[Any]) -> None:
        """Open the windows that were kept."""
        self.windows = [
            EventWindow(Happening.of_json(opening), [*map(Happening.of_json, inside)]) for opening, inside in value
        ]

"""Happenings: an event happened, from one instant to another, by these parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

Part: TypeAlias = tuple[int, int]
"""A simple event by its number in the whole event, and the instant at which it happened."""


@dataclass(frozen=True, slots=True, order=True)
class Happening:
    """An event happened: it ended with its last part, and began with its first."""

    end: int
    begin: int
    parts: tuple[Part, ...] = ()

    @staticmethod
    def together(happenings: Iterable[Happening]) -> Happening:
        """Several happenings as one, with the parts of all.

        >>> Happening.together([Happening(5, 2, ((0, 2),)), Happening(7, 7, ((1, 7),))])
        Happening(end=7, begin=2, parts=((0, 2), (1, 7)))
        """
        listed = list(happenings)
        parts = tuple(sorted({part for each in listed for part in each.parts}))
        return Happening(max(each.end for each in listed), min(each.begin for each in listed), parts)

    def as_json(self) -> list[Any]:
        """The same as lists, as the catalog keeps it."""
        return [self.end, self.begin, [list(part) for part in self.parts]]

    @staticmethod
    def of_json(value: list[Any]) -> Happening:
        """A happening that was kept."""
        end, begin, parts = value
        return Happening(end, begin, tuple((number, instant) for number, instant in parts))

"""A wave: a batch for one query, how it is processed, and by which program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidings.delta.plan import Program
from tidings.engine.source import Source
from tidings.waves.strategy import Choice

Given: TypeAlias = Mapping[str, Source]
"""Deltas of views, known before a wave."""

NOTHING: Given = {}


@dataclass(frozen=True, slots=True)
class Wave:
    """A batch for one query: how it is to be processed, and the program for it."""

    choice: Choice
    program: Program
    since: int
    until: int
    ends: tuple[int, ...]
    """The instants one after the other, for a recompute."""
    changes: int
    """Changed rows of the tables and stored views it reads."""
    seconds: float
    """How long it took to plan it."""
    given: Given
    """Deltas of views below that are known already."""

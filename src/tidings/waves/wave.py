"""A wave: the changes of one query over one batch, from the request to the plan for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tidings.delta.plan import Program
from tidings.engine.source import Source
from tidings.ir.relation import Aggregate, Relation
from tidings.waves.strategy import Choice

PrecomputedDeltas: TypeAlias = Mapping[str, Source]
"""Deltas of views that were computed before the wave, by name."""


@dataclass(frozen=True, slots=True)
class WaveRequest:
    """Asks for the changes of a query over ``(since, until]``."""

    name: str
    plan: Relation
    since: int
    until: int
    net: bool = False
    """Whether what lies between the two ends is enough, without the changes at the instants between them."""
    groupings: Mapping[str, Aggregate] | None = None
    """The groupings of a stored view, whose own rows are stored as well; None for any other query."""
    precomputed: PrecomputedDeltas = field(default_factory=dict)
    """Deltas of views below, computed already for the same batch."""
    strict: bool = False
    """Whether a recompute would be refused; then what only makes one faster is not counted in its favour."""


@dataclass(frozen=True, slots=True)
class Wave:
    """A batch for one query: how it is processed, and the program for it."""

    choice: Choice
    program: Program
    since: int
    until: int
    ends: tuple[int, ...]
    """The instants at which a recompute is done, one after the other."""
    changes: int
    """Changed rows of the tables and stored views it reads."""
    seconds: float
    """How long it took to plan it."""
    precomputed: PrecomputedDeltas
    """Deltas of views below, computed already."""
    other: Callable[[], Wave] | None = None
    """The same batch processed the other way; None if it must be this one."""

"""A wave: the changes of one query over one batch, from the request to the plan for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.plan import Program
from tidings.engine.source import Source
from tidings.ir.relation import Aggregate, Relation
from tidings.rewrite.shapes import QUERY
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
    recursive: bool = False
    """Whether deltas of recursions are among them; then a recompute would evaluate these for nothing."""
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
    of_one_shape: tuple[str, ...] = ()
    """The queries of one shape that the program is for, in the order of their numbers; none if it is for one query."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries it is for."""
        return self.of_one_shape or (self.program.view,)

    def by_query(self, deltas: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The deltas of the program, apart for each of the queries of one shape."""
        if not self.of_one_shape:
            return deltas
        delta = deltas[self.program.view]
        rows, numbers = delta.drop_columns([QUERY]), delta.column(QUERY)
        parts = dict.fromkeys(self.of_one_shape, rows.slice(0, 0))
        for number in pc.unique(numbers).to_pylist():
            parts[self.of_one_shape[number]] = rows.filter(pc.equal(numbers, number))
        return parts

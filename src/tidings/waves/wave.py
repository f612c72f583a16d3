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
from tidings.waves.in_process.shape_states import ShapeState
from tidings.waves.strategy import Choice

PrecomputedDeltas: TypeAlias = Mapping[str, Source]
"""Deltas of views that were computed before the wave, by name."""


SharedStates: TypeAlias = Mapping[str, ShapeState]
"""Rows that several views of one shape have stored, by the name under which their common query reads them."""


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
    states: SharedStates = field(default_factory=dict)
    """The rows of groupings that several views of one shape have stored."""
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
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What these queries have stored of each grouping that the program has in common for them, in the same order."""
    states: SharedStates = field(default_factory=dict)
    """The rows of these groupings."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries it is for."""
        return self.of_one_shape or (self.program.view,)

    def by_query(self, deltas: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The deltas of the program, apart for each of the queries of one shape and for what these have stored."""
        if not self.of_one_shape:
            return deltas
        apart: dict[str, pa.Table] = {}
        for step, delta in deltas.items():
            apart |= _by_number(delta, self.stored.get(step, self.of_one_shape))
        return apart


def _by_number(delta: pa.Table, names: tuple[str, ...]) -> dict[str, pa.Table]:
    """The parts of a delta, each under the name of the query its rows belong to."""
    rows, numbers = delta.drop_columns([QUERY]), delta.column(QUERY)
    parts = dict.fromkeys(names, rows.slice(0, 0))
    for number in pc.unique(numbers).to_pylist():
        parts[names[number]] = rows.filter(pc.equal(numbers, number))
    return parts

"""States with what a recompute has found so far."""

from __future__ import annotations

import pyarrow as pa

from tidings.engine.changes import as_changes, no_changes
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.waves.recomputed_states import RecomputedStates

COLUMNS = (Column("n", "int"),)


def changes(value: int, time: int) -> pa.Table:
    return as_changes(COLUMNS, pa.table({"n": pa.array([value], pa.int32())}), [1], time)


STORED = Source(COLUMNS, "base", changes(1, time=1))


def test_rows_are_those_stored_and_the_deltas_so_far() -> None:
    states = RecomputedStates()
    sources = states.over(lambda relation, version: STORED)
    assert sources("v", Version.OLD) is STORED
    states.add("v", changes(2, time=2))
    states.add("w", no_changes(COLUMNS))
    assert sources("w", Version.OLD) is STORED
    with_delta = sources("v", Version.CURRENT)
    assert with_delta.base == "base"
    assert isinstance(with_delta.changes, pa.Table)
    assert with_delta.changes.column("n").to_pylist() == [1, 2]


def test_results_are_over_all_instants() -> None:
    states = RecomputedStates()
    for time in (2, 3):
        states.add("v", changes(7, time))
    assert states.results()["v"].column("__t").to_pylist() == [2, 3]

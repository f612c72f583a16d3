"""What a step reads once its rows have been looked up."""

from __future__ import annotations

import pyarrow as pa

from tidings.delta.lookups import Lookup
from tidings.engine.changes import versioned
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.waves.step_inputs import StepInputs, distinct_keys, key_values

COLUMNS = (Column("a", "bigint"), Column("b", "bigint"))
LOOKUP = Lookup("u?1", "u", Version.OLD, COLUMNS, COLUMNS[0], (("t", "b"), ("u?0", "a")))


def rows(a: list[int | None], b: list[int | None], time: int = 1, weights: int = 1) -> Source:
    table = pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())})
    return Source(COLUMNS, None, versioned(table, time, weights))


def inputs(log: Source) -> StepInputs:
    """The delta of t, the log of u, and rows of u that were looked up before."""
    deltas = {"t": rows([1], [7]), "u": log}
    return StepInputs(lambda relation, _: deltas[relation], {}, 0, 9, {"u?0": rows([8, 7], [0, 0])})


def test_keys_that_a_column_cannot_have_are_left_out() -> None:
    keys = pa.array([1, 1 << 40, 1, -(1 << 40), None], pa.int64())
    assert distinct_keys([keys], "int").to_pylist() == [1]
    assert distinct_keys([keys], "bigint").to_pylist() == [1, 1 << 40, -(1 << 40), None]


def test_keys_come_from_deltas_and_from_rows_looked_up_before() -> None:
    assert key_values(LOOKUP, inputs(rows([], []))).to_pylist() == [7, 8]


def test_the_log_adds_the_rows_of_the_keys() -> None:
    base = pa.table({"a": pa.array([7], pa.int64()), "b": pa.array([1], pa.int64())})
    step = inputs(rows([7, 6, None], [2, 2, 2], time=5, weights=-1))
    added = step.add(LOOKUP, pa.array([7, 8], pa.int64()), base)
    assert step.source("u?1", Version.OLD) is added
    assert isinstance(added.changes, pa.Table)
    assert added.changes.to_pylist() == [{"a": 7, "b": 1, "__t": 0, "__w": 1}, {"a": 7, "b": 2, "__t": 5, "__w": -1}]

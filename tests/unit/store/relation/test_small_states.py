"""States made in this process: the bag that a base and a log come to, each row as it was written."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes
from tidings.engine.row_values import row_keys
from tidings.ir.relation import Column
from tidings.store.relation.small_states import small_state

COLUMNS = (Column("k", "int"), Column("f", "double"), Column("a", "array<string>"))


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("kfa", row, strict=True)) for row in rows], schema=arrow_schema(COLUMNS))


def test_random_logs_come_to_what_counting_rows_comes_to() -> None:
    for seed in range(40):
        rng = Random(seed)
        values: tuple[list[Any], ...] = ([1, 2, None], [0.5, math.nan, None], [["x"], [], None])
        base = [tuple(map(rng.choice, values)) for _ in range(rng.randrange(60))]
        held, log = Counter(row_keys(table(base))), []
        for time in range(rng.randrange(5)):
            rows = [tuple(map(rng.choice, values)) for _ in range(20)]
            weights = []
            for key in row_keys(table(rows)):
                weight = rng.choice([1, 2, -1])
                weights.append(weight if held[key] + weight >= 0 else 1)
                held[key] += weights[-1]
            log.append(as_changes(COLUMNS, table(rows), weights, time))
        assert Counter(row_keys(small_state(COLUMNS, table(base), log))) == +held, seed


def test_rows_stay_as_they_were_written() -> None:
    base = table([(1, -0.0, None), (1, 0.0, None), (2, 1.0, None)])
    left = small_state(COLUMNS, base, [as_changes(COLUMNS, table([(2, 1.0, None)]), -1)])
    assert [math.copysign(1, f) for f in left.column("f").to_pylist()] == [-1, 1]

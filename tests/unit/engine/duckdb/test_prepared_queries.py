"""Prepared queries give the right answer whatever rows they were planned for."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import get_args

import duckdb
import pyarrow as pa
import pytest

from tidings.engine.duckdb import JoinOrder, PreparedQueries
from tidings.errors import EngineFailed

QUERIES = (
    "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON b.k = a.k WHERE a.v < CAST($until AS BIGINT)",
    "SELECT a.k, SUM(a.v) AS s, COUNT(*) AS n FROM a GROUP BY a.k HAVING COUNT(*) <> $until - $until",
    "SELECT a.f, MIN(a.v) AS v FROM a WHERE a.k BETWEEN -3 AND CAST($until AS BIGINT) GROUP BY a.f",
    "SELECT a.k, b.k AS l FROM a LEFT JOIN b ON b.f = a.f AND b.v > a.v WHERE $until IS NOT NULL",
    "SELECT a.k FROM a WHERE $until > 0 AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT a.t, a.v FROM a WHERE a.t IN (SELECT t FROM b) AND $until > 0",
    "SELECT a.k, ROW_NUMBER() OVER (PARTITION BY a.k ORDER BY a.v, a.f, a.t) AS r FROM a WHERE $until > 0",
    "SELECT a.k, b.v FROM a JOIN b ON b.k IS NOT DISTINCT FROM a.k JOIN a AS c ON c.v = b.v WHERE $until > 0",
    "(SELECT k, t FROM a EXCEPT ALL SELECT k, t FROM b) UNION ALL SELECT k, t FROM b WHERE v > $until",
)


@pytest.fixture(params=get_args(JoinOrder))
def queries(request: pytest.FixtureRequest) -> Iterator[PreparedQueries]:
    prepared = PreparedQueries(joins=request.param)
    yield prepared
    prepared.close()


def random_rows(rng: random.Random) -> pa.Table:
    """Rows of another number, range and share of NULLs each time."""
    count = rng.choice([0, 0, 1, 2, 5, 30, 300])
    low = rng.choice([0, -5, 10**6, -(10**12)])
    width = rng.choice([1, 4, 1000])

    def values(*choices: object) -> list[object]:
        return [rng.choice([None, *choices]) for _ in range(count)]

    return pa.table(
        {
            "k": pa.array(values(*range(low, low + width)), pa.int64()),
            "v": pa.array(values(*range(low // 1000, low // 1000 + width)), pa.int64()),
            "f": pa.array(values(math.nan, 0.0, -0.0, math.inf, 1.5), pa.float64()),
            "t": pa.array(values("", "a", "b\0c", "é'\\"), pa.string()),
        }
    )


def answer(text: str, tables: dict[str, pa.Table], until: int) -> list[str]:
    """What DuckDB says when it is asked for the first time."""
    with duckdb.connect(":memory:") as connection:
        for name, rows in tables.items():
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM rows")
        return bag(connection.execute(text, {"until": until}).to_arrow_table())


def bag(rows: pa.Table) -> list[str]:
    return sorted(repr([0.0 if v == 0 else v for v in row.values()]) for row in rows.to_pylist())


@pytest.mark.parametrize("text", QUERIES)
def test_other_rows_each_time(queries: PreparedQueries, text: str) -> None:
    rng = random.Random(QUERIES.index(text))
    for _ in range(25):
        tables, until = {"a": random_rows(rng), "b": random_rows(rng)}, rng.choice([1, 7, 10**12])
        queries.fill(tables)
        delta = queries.fetch(text, {"until": f"CAST({until} AS BIGINT)"})
        assert bag(delta) == answer(text, tables, until)


def test_columns_may_become_others(queries: PreparedQueries) -> None:
    queries.fill({"a": pa.table({"x": [1, 2]})})
    assert queries.fetch("SELECT x FROM a", {}).column("x").to_pylist() == [1, 2]
    queries.fill({"a": pa.table({"y": [0], "x": ["three"]})})
    assert queries.fetch("SELECT x FROM a", {}).column("x").to_pylist() == ["three"]
    queries.forget()
    with pytest.raises(EngineFailed, match="a does not exist"):
        queries.fetch("SELECT x FROM a", {})
    queries.fill({"a": pa.table({"x": [5]})})
    assert queries.fetch("SELECT x FROM a", {}).column("x").to_pylist() == [5]


def test_a_failure_leaves_nothing_behind(queries: PreparedQueries) -> None:
    queries.fill({"a": pa.table({"x": pa.array([1, 2**62], pa.int64())})})
    with pytest.raises(EngineFailed, match="Overflow"):
        queries.fetch("SELECT x * 4 AS x FROM a", {})
    queries.fill({"a": pa.table({"x": pa.array([3], pa.int64())})})
    assert queries.fetch("SELECT x * 4 AS x FROM a", {}).column("x").to_pylist() == [12]


def test_what_does_not_fit_begins_anew() -> None:
    """There are more tables than memory, and each query is still answered; its tables are filled together."""
    prepared = PreparedQueries(memory=32 << 20)
    wide = pa.table({f"c{n}": [n] for n in range(100)})
    for n in range(40):
        prepared.fill({f"a{n}": wide, "b": wide})
        assert prepared.fetch(f"SELECT a{n}.c7 + b.c1 AS x FROM a{n}, b", {}).column("x").to_pylist() == [8]
    prepared.close()

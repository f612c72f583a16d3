"""Several queries as one."""

from __future__ import annotations

from tidings.engine.arrow import arrow_schema
from tidings.engine.duckdb import DuckDB
from tidings.engine.sql.combined import combined, separated
from tidings.ir.relation import Column

COLUMNS = [
    (Column("a", "int"), Column("b", "string")),
    (Column("x", "string"), Column("y", "int"), Column("z", "int")),
    (Column("odd name", "string"),),
]
QUERIES = [
    "SELECT 1 AS a, 'one' AS b",
    "SELECT 'two' AS x, 2 AS y, 3 AS z",
    "SELECT 'four' AS \"odd name\" WHERE FALSE",
]


def test_rows_come_back_to_their_queries() -> None:
    engine = DuckDB()
    rows = engine.fetch(combined(QUERIES, COLUMNS, "duckdb"))
    first, second, third = separated(rows, COLUMNS, [arrow_schema(c) for c in COLUMNS])
    assert first.to_pylist() == [{"a": 1, "b": "one"}]
    assert second.to_pylist() == [{"x": "two", "y": 2, "z": 3}]
    assert third.column_names == ["odd name"]
    assert third.num_rows == 0
    engine.close()


def test_columns_of_one_type_share_a_place() -> None:
    text = combined(QUERIES, COLUMNS, "duckdb")
    assert "AS c2" in text
    assert "AS c3" not in text

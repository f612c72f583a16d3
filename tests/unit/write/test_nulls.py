"""NULL takes its type from where it goes: in every statement that gives rows, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import UnsupportedType

STATEMENTS: dict[str, list[tuple[Any, ...]] | None] = {
    "INSERT INTO t VALUES (2, upper('x'), NULL, NULL, NULL)": [(2, "X", None, None, None)],
    "INSERT INTO t VALUES (2, NULL, NULL, NULL, NULL), (3, 'y', 1.5, ARRAY(1), DATE '2024-02-29')": [
        (2, None, None, None, None),
        (3, "y", 1.5, [1], "2024-02-29"),
    ],
    "INSERT INTO t SELECT a + 1, NULL, NULL, NULL, NULL FROM t": [(2, None, None, None, None)],
    "INSERT INTO t (day, a) SELECT NULL, 5": [(5, None, None, None, None)],
    "INSERT INTO t SELECT 2, NULL, NULL, NULL, NULL UNION ALL SELECT 3, 'z', NULL, ARRAY(1, NULL), NULL": [
        (2, None, None, None, None),
        (3, "z", None, [1, None], None),
    ],
    "MERGE INTO t USING (VALUES (11, NULL)) AS s (a, b) ON t.a = s.a "
    "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b)": [(11, None, None, None, None)],
    "MERGE INTO t USING (SELECT 12 AS a, NULL AS b, NULL AS p) s ON t.a = s.a "
    "WHEN NOT MATCHED THEN INSERT (a, b, p) VALUES (s.a, s.b, s.p)": [(12, None, None, None, None)],
    "MERGE INTO t USING (VALUES (1, NULL)) AS s (a, b) ON t.a = s.a "
    "WHEN MATCHED THEN UPDATE SET b = s.b, f = NULL, p = NULL, day = NULL": None,
    "UPDATE t SET b = NULL, f = NULL, p = NULL, day = NULL WHERE a = 1": None,
}
"""Statements, and the rows that they add; None for those that make NULL of all values."""


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "duckdb":
        return {"engine": "duckdb"}
    return {"engine": "spark", "spark": request.getfixturevalue("spark")}


def opened(options: dict[str, Any]) -> Database:
    db = tidings.open(**options, clock=tidings.ManualClock(1_000))
    db.sql("CREATE TABLE t (a INT PRIMARY KEY, b STRING, f DOUBLE, p ARRAY<INT>, day DATE)")
    db.sql("INSERT INTO t VALUES (1, 'x', 0.5, ARRAY(1, 2), DATE '2024-01-01')")
    return db


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_takes_them(options: dict[str, Any], statement: str) -> None:
    came = STATEMENTS[statement]
    with opened(options) as db:
        db.sql(statement)
        rows = sorted(tuple(row.values()) for row in db.query("SELECT a, b, f, p, CAST(day AS STRING) FROM t").rows())
    first = (1, None, None, None, None) if came is None else (1, "x", 0.5, [1, 2], "2024-01-01")
    assert rows == [first, *(came or [])]


def test_a_query_and_a_view_have_them(options: dict[str, Any]) -> None:
    with opened(options) as db:
        assert db.query("SELECT NULL AS x").rows() == [{"x": None}]
        assert db.query("SELECT a, NULL AS x FROM t UNION ALL SELECT 2, 'y'").rows()[1:] == [{"a": 2, "x": "y"}]
        db.sql("CREATE VIEW v AS SELECT a, CAST(NULL AS STRING) AS x FROM t")
        assert db.query("v").rows() == [{"a": 1, "x": None}]


def test_a_view_over_an_empty_table_is_stored(options: dict[str, Any]) -> None:
    with opened(options) as db:
        db.sql("CREATE TABLE none (k INT, s STRING, m MAP<STRING, INT>)")
        db.sql("CREATE MATERIALIZED VIEW of_none AS SELECT k, s FROM none WHERE s IS NOT NULL")
        db.sql("CREATE MATERIALIZED VIEW counted AS SELECT s, count(*) AS n, max(k) AS k FROM none GROUP BY s")
        assert len(db.query("of_none")) == len(db.query("counted")) == 0
        db.sql("INSERT INTO none VALUES (1, 'a', NULL), (2, 'a', NULL)")
        db.advance()
        assert db.query("counted").rows() == [{"s": "a", "n": 2, "k": 2}]


def test_an_array_of_nothing_but_null_has_no_type(options: dict[str, Any]) -> None:
    with opened(options) as db:
        for query in ("SELECT ARRAY(NULL)", "SELECT NULL UNION ALL SELECT ARRAY(NULL)"):
            with pytest.raises(UnsupportedType):
                db.query(query)
        assert db.query("SELECT CAST(ARRAY(NULL) AS ARRAY<INT>) AS x").rows() == [{"x": [None]}]

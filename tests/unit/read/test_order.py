"""A query that is asked once keeps the order of its rows; a view has none."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import tidings
from tidings import Database
from tidings.errors import InvalidExpression, UnsupportedConstruct

ROWS = [(3, "c", 1.0, [3, 1]), (1, "b", None, []), (2, "a", float("nan"), [9]), (1, "z", 5.0, None)]


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    with tidings.open(engine=request.param, spark=session) as db:
        db.sql("CREATE TABLE t (id INT, s STRING, x DOUBLE, xs ARRAY<INT>)")
        with db.transaction() as tx:
            tx.insert("t", ROWS)
        yield db


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id, s FROM t ORDER BY id DESC, s", [(3, "c"), (2, "a"), (1, "b"), (1, "z")]),
        ("SELECT s FROM t ORDER BY x", ["b", "c", "z", "a"]),
        ("SELECT s FROM t ORDER BY x DESC NULLS FIRST LIMIT 2", ["b", "a"]),
        ("SELECT s FROM t LIMIT 2", ["a", "b"]),
        ("SELECT s FROM t LIMIT 1 OFFSET 1", ["b"]),
        ("SELECT id, count(*) AS c FROM t GROUP BY id ORDER BY count(*) DESC, 1", [(1, 2), (2, 1), (3, 1)]),
        ("SELECT id FROM t UNION ALL SELECT 7 ORDER BY id + 0 DESC", [7, 3, 2, 1, 1]),
        ("(SELECT s FROM t) ORDER BY 1 DESC", ["z", "c", "b", "a"]),
        ("SELECT explode(xs) AS e FROM t ORDER BY e DESC LIMIT 2", [9, 3]),
        ("SELECT DISTINCT id FROM t ORDER BY id DESC", [3, 2, 1]),
        ("SELECT DISTINCT (id) FROM t ORDER BY id DESC LIMIT 2", [3, 2]),
        ("WITH q AS (SELECT * FROM t) SELECT s FROM q ORDER BY s DESC", ["z", "c", "b", "a"]),
        ("SELECT s FROM (SELECT s FROM t ORDER BY s LIMIT 3) ORDER BY s DESC", ["c", "b", "a"]),
        ("SELECT id, s FROM t ORDER BY ALL", [(1, "b"), (1, "z"), (2, "a"), (3, "c")]),
        ("VALUES (2), (1) ORDER BY 1", [1, 2]),
        ("FROM t |> SELECT s |> ORDER BY s DESC", ["z", "c", "b", "a"]),
        ("SELECT id + 1, id + 1 FROM t ORDER BY 2 DESC LIMIT 1", [(4, 4)]),
    ],
)
def test_rows_come_in_their_order(db: Database, query: str, rows: list[Any]) -> None:
    want = [row if isinstance(row, tuple) else (row,) for row in rows]
    assert [tuple(row.values()) for row in db.query(query).rows()] == want
    again = db.sql(query)
    assert again is not None
    assert [tuple(row.values()) for row in again.rows()] == want
    with db.transaction() as tx:
        assert [tuple(row.values()) for row in tx.query(query).rows()] == want


def test_random_orders(db: Database) -> None:
    rng = Random(7)
    for _ in range(10):
        keys = rng.sample(["id", "s", "x"], rng.randint(1, 3))
        parts = [f"{key} {rng.choice(['ASC', 'DESC'])}" for key in keys]
        whole = db.query(f"SELECT id, s FROM t ORDER BY {', '.join(parts)}").rows()
        limit, offset = rng.randint(0, 4), rng.randint(0, 3)
        part = db.query(f"SELECT id, s FROM t ORDER BY {', '.join(parts)} LIMIT {limit} OFFSET {offset}").rows()
        assert part == whole[offset : offset + limit]


def test_a_view_has_no_order(db: Database) -> None:
    query = "SELECT s FROM t ORDER BY s DESC"
    assert db.changes(query, since=0).columns == ["s"]
    with pytest.raises(UnsupportedConstruct):
        db.sql("CREATE VIEW few AS SELECT s FROM t LIMIT 2")
    with pytest.raises(UnsupportedConstruct):
        db.changes("SELECT s FROM t LIMIT 2")


def test_distinct_rows_are_ordered_by_their_own_columns(db: Database) -> None:
    with pytest.raises(InvalidExpression):
        db.query("SELECT DISTINCT id FROM t ORDER BY s")

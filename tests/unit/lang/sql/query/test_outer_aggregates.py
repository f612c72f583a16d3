"""Aggregates over the rows of the query around a subquery."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tests.unit.schema import bound
from tidings.errors import InvalidExpression

ROWS = (
    "INSERT INTO u VALUES (1, 1, 1.5), (1, 4, 2.5), (2, 7, NULL), (NULL, 3, 3); INSERT INTO w VALUES (3, 'x'), (4, 'y')"
)


@pytest.fixture(scope="module")
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0)) as db:
        db.sql("CREATE TABLE u (a INT, c BIGINT, d DECIMAL(10, 2)); CREATE TABLE w (c BIGINT, e STRING)")
        db.sql(ROWS)
        yield db


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT a FROM u GROUP BY a HAVING EXISTS (SELECT 1 FROM w WHERE w.c = max(u.c))", {(1,), (None,)}),
        ("SELECT a, (SELECT max(u.c)) AS m FROM u GROUP BY a", {(1, 4), (2, 7), (None, 3)}),
        ("SELECT a, (SELECT count(*) FROM w WHERE w.c < sum(u.c)) AS n FROM u GROUP BY a", {(1, 2), (2, 2), (None, 0)}),
        ("SELECT (SELECT e FROM w WHERE w.c = min(u.c) + 2) AS e FROM u", {("x",)}),
        ("SELECT a, (SELECT q.m FROM (SELECT max(u.c) AS m) AS q) AS m FROM u GROUP BY a", {(1, 4), (2, 7), (None, 3)}),
        (
            "SELECT a FROM u GROUP BY a HAVING EXISTS (SELECT 1 FROM w WHERE c IN (SELECT c FROM w WHERE c=max(u.c)))",
            {(1,), (None,)},
        ),
        ("SELECT a, (SELECT listagg(u.c, '-')) AS m FROM u GROUP BY a", {(1, "1-4"), (2, "7"), (None, "3")}),
        ("SELECT a, (SELECT 5 + grouping(u.a)) AS g FROM u WHERE a = 2 GROUP BY ROLLUP (a)", {(2, 5), (None, 6)}),
        ("SELECT a FROM u GROUP BY a ORDER BY (SELECT -count(u.d)), a LIMIT 1", {(1,)}),
    ],
)
def test_the_query_around_computes_them(db: tidings.Database, query: str, rows: set[object]) -> None:
    assert {tuple(row.values()) for row in db.query(query).rows()} == rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = max(u.c))",
        "SELECT count(*) AS n FROM u GROUP BY (SELECT max(u.c))",
        "SELECT sum((SELECT max(u.c))) AS s FROM u",
        "SELECT u.a FROM u JOIN w ON w.c = (SELECT max(u.c))",
        "SELECT u.a FROM u, LATERAL (SELECT max(u.c) AS m) AS q",
    ],
)
def test_where_it_is_not_grouped_yet_they_are_refused(query: str) -> None:
    with pytest.raises(InvalidExpression, match="max\\(\\) in the subquery is an aggregate of the query around"):
        bound(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT u.a, (SELECT max(w.c) FROM w WHERE w.c = u.c) AS m FROM u",
        "SELECT u.a, (SELECT max(w.c + u.c) FROM w) AS m FROM u",
        "SELECT u.a, (SELECT count(*) FROM w WHERE w.c > u.c) AS m FROM u",
        "SELECT u.a, (SELECT max(z) FROM (SELECT u.a + 1 AS z) AS q) AS m FROM u",
    ],
)
def test_those_of_its_own_rows_are_not_of_the_query_around(query: str) -> None:
    bound(query)

"""Long and deeply nested statements: they are read and answered, or refused by name; never another exception."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidings
from tidings import errors
from tidings.lang.sql.depth.size_limits import CHARACTERS, NESTING, OPERANDS, PARENTHESES


@pytest.fixture(scope="module")
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2), (3, 4), (3, 4)")
        yield db


def nested(before: str, inside: str, behind: str, times: int) -> str:
    return before * times + inside + behind * times


def chained(operator: str, item: str, times: int) -> str:
    return f" {operator} ".join(item.format(n=n) for n in range(times))


def answer(db: tidings.Database, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.query(query).rows())


LONG: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "AND": ("SELECT a FROM t WHERE " + chained("AND", "a <> {n} + 100", 100), [(1,), (3,), (3,)]),
    "OR": ("SELECT a FROM t WHERE " + chained("OR", "a = {n} + 3 AND b > {n}", 100), [(3,), (3,)]),
    "NOT OR": ("SELECT a FROM t WHERE NOT (" + chained("OR", "a = {n} + 3", 100) + ")", [(1,)]),
    "IN": ("SELECT a FROM t WHERE a IN (" + chained(",", "{n}", 2000) + ")", [(1,), (3,), (3,)]),
    "texts": ("SELECT " + chained("||", "CAST({n} % 10 AS STRING)", 200) + " AS x", [("0123456789" * 20,)]),
    "sum": ("SELECT " + chained("+", "a", OPERANDS + 1) + " AS x FROM t", [(901,), (2703,), (2703,)]),
    "WITH": (
        "WITH c0 AS (SELECT a FROM t)"
        + "".join(f", c{n} AS (SELECT a FROM c{n - 1})" for n in range(1, 300))
        + " SELECT * FROM c299",
        [(1,), (3,), (3,)],
    ),
    "UNION ALL": (chained("UNION ALL", "SELECT {n} AS a", 50), [(n,) for n in range(50)]),
    "UNION": (chained("UNION", "SELECT a + {n} % 2 AS a FROM t", 30), [(1,), (2,), (3,), (4,)]),
    "EXCEPT": (chained("EXCEPT", "SELECT a + {n} AS a FROM t", 30), [(1,)]),
    "EXCEPT ALL": ("SELECT a FROM t EXCEPT ALL " + chained("EXCEPT ALL", "SELECT 3 + {n}", 30), [(1,), (3,)]),
    "mixed": (
        chained("UNION ALL", "SELECT {n} % 2 AS a", 20) + " UNION " + chained("UNION ALL", "SELECT 7", 20),
        [(0,), (1,), *[(7,)] * 20],
    ),
    "ordered": (chained("UNION", "SELECT {n} AS a", 20) + " ORDER BY a DESC LIMIT 2", [(18,), (19,)]),
    "CASE": (
        "SELECT CASE " + chained("", "WHEN a = {n} + 2 THEN {n}", 100) + " ELSE -1 END AS x FROM t",
        [(-1,), (1,), (1,)],
    ),
    "VALUES": ("SELECT count(*) AS n FROM VALUES " + chained(",", "({n}, 1)", 1000) + " AS v (x, y)", [(1000,)]),
    "parentheses": ("SELECT " + nested("(", "1", ")", PARENTHESES) + " AS x", [(1,)]),
    "parentheses of a query": ("SELECT * FROM " + nested("(", "SELECT a FROM t", ")", 100), [(1,), (3,), (3,)]),
    "sums in parentheses": ("SELECT " + nested("(a + ", "0", ")", 120) + " AS x FROM t", [(120,), (360,), (360,)]),
    "CASE in CASE": (
        "SELECT " + nested("CASE WHEN a = 1 THEN 2 ELSE ", "3", " END", 120) + " AS x FROM t",
        [(2,), (3,), (3,)],
    ),
    "calls": ("SELECT " + nested("abs(", "a", ")", NESTING) + " AS x FROM t", [(1,), (3,), (3,)]),
    "NOT": ("SELECT a FROM t WHERE " + "NOT " * 100 + "a = 1", [(1,)]),
    "queries": (nested("SELECT * FROM (", "SELECT a FROM t", ")", 50), [(1,), (3,), (3,)]),
}


@pytest.mark.parametrize("which", LONG)
def test_it_is_answered(db: tidings.Database, which: str) -> None:
    query, expected = LONG[which]
    assert answer(db, query) == sorted(expected)


@pytest.mark.parametrize("which", ["AND", "UNION", "EXCEPT ALL", "sums in parentheses"])
def test_its_changes_are_told(which: str) -> None:
    query, _ = LONG[which]
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2), (3, 4), (3, 4)")
        db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
        db.sql("INSERT INTO t VALUES (8, 1), (3, 0); DELETE FROM t WHERE a = 1")
        assert answer(db, "v") == answer(db, query)


DEEP = {
    "parentheses": "SELECT " + nested("(", "1", ")", PARENTHESES + 3),
    "calls": "SELECT " + nested("abs(", "a", ")", NESTING + 1) + " FROM t",
    "operators": "SELECT a FROM t WHERE " + "NOT " * (NESTING + 1) + "a = 1",
    "queries": nested("SELECT * FROM (", "SELECT a FROM t", ")", NESTING + 1),
    "sum": "SELECT " + chained("+", "a", OPERANDS + 2) + " FROM t",
    "CASE": "SELECT " + nested("CASE WHEN a = 1 THEN 2 ELSE ", "3", " END", NESTING + 1) + " FROM t",
    "in a rule": "CREATE RULE r WHEN SELECT a FROM t WHERE " + nested("(1 + ", "a", ")", 300) + " > 1 DO NOTIFY 'x'",
    "in a change": "UPDATE t SET a = " + nested("(1 + ", "a", ")", 300),
}


@pytest.mark.parametrize("which", DEEP)
def test_it_is_refused_by_name(db: tidings.Database, which: str) -> None:
    with pytest.raises(errors.StatementTooDeep):
        db.sql(DEEP[which])
    assert answer(db, "SELECT a FROM t") == [(1,), (3,), (3,)]


def test_a_text_that_is_too_large_is_refused(db: tidings.Database) -> None:
    with pytest.raises(errors.StatementTooLarge):
        db.sql("INSERT INTO t VALUES (1, 2)" + " " * CHARACTERS)


def test_places_stay_where_they_are(db: tidings.Database) -> None:
    text = "SELECT " + nested("(", "nonsense", ")", 40) + " FROM t"
    with pytest.raises(errors.UnknownColumn) as refused:
        db.query(text)
    assert refused.value.place is not None
    assert refused.value.place.start == text.index("nonsense")

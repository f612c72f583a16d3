"""Queries that differ only in constants: what is taken out of them, and the one query for all."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.ir.relation import Aggregate, Relation, Scan, Values
from tidings.ir.traverse import walk
from tidings.rewrite.pipeline import normalise
from tidings.rewrite.shapes import QUERY, QueryShape, in_one, shape
from tidings.store.relation.view import View, stored


def plan(query: str) -> Relation:
    return normalise(bound(query), {})


def constants(query: str) -> list[tuple[str, str]]:
    """The constants that are taken out of a query, with their types."""
    taken = shape(plan(query))
    return [] if taken is None else [(c.sql("spark"), type) for c, type in zip(taken[1], taken[0].types, strict=True)]


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("c < 5", [("5", "int")]),
        ("5 > c", [("5", "int")]),
        ("c = -5", [("-5", "int")]),
        ("c <> 7 % 3 + 1", [("7 % 3 + 1", "int")]),
        ("c < 3000000000", [("3000000000", "bigint")]),
        ("c < 2.50", [("2.50", "decimal(18,2)")]),
        ("c BETWEEN 1 AND 9", [("1", "int"), ("9", "int")]),
        ("c % 10 = 3", [("3", "int")]),
        ("c < 5 OR a = 6", [("5", "int"), ("6", "int")]),
        ("CAST('2020-01-01' AS DATE) < DATE '2020-01-02'", []),
        ("c < a", []),
        ("c IS NULL", []),
        ("c IN (1, 2)", []),
        ("c < 10000000000000000000", []),
        ("CAST(a AS STRING) = '5'", []),
        ("c < 1e3", []),
    ],
)
def test_what_something_is_compared_with_is_taken_out(condition: str, taken: list[tuple[str, str]]) -> None:
    assert sorted(constants(f"SELECT a FROM u WHERE {condition}")) == sorted(taken)


def test_strings_are_taken_out_where_they_are_compared_with_a_column_of_strings() -> None:
    assert constants("SELECT c FROM w WHERE e = 'x'") == [("'x'", "string")]
    assert constants("SELECT c FROM w WHERE upper(e) = 'x'") == []


def test_constants_above_a_grouping_are_taken_out_and_those_in_it_are_not() -> None:
    grouped = "SELECT a, count(*) AS n FROM u WHERE c < 5 GROUP BY a HAVING count(*) > 2"
    assert constants(grouped) == [("2", "int")]


def shape_with(condition: str) -> QueryShape:
    taken = shape(plan(f"SELECT a FROM u WHERE {condition}"))
    assert taken is not None
    return taken[0]


def test_queries_of_one_shape_differ_in_constants_alone() -> None:
    assert shape_with("c < 5") == shape_with("c < 50")
    others = ["c > 5", "a < 5", "c < 5000000000", "NOT EXISTS (SELECT 1 FROM w WHERE w.c = u.c AND w.c < 5)"]
    assert len({shape_with("c < 5"), *map(shape_with, others)}) == 5


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM u WHERE c < {n}",
        "SELECT u.a FROM u JOIN w ON w.c = u.c AND u.c > {n}",
        "SELECT u.a FROM u LEFT JOIN w ON w.c = u.c AND u.c > {n}",
        "SELECT a FROM u WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.c = u.c AND w.c < {n})",
        "SELECT a FROM u WHERE c < {n} AND c IN (SELECT c FROM w WHERE c > {n})",
    ],
)
def test_one_query_has_the_columns_of_all_and_their_numbers(query: str) -> None:
    plans = [plan(query.format(n=n)) for n in (1, 2, 3)]
    shapes = [s for s in map(shape, plans) if s is not None]
    together = in_one(shapes[0][0], [values for _, values in shapes]).plan
    assert [(f.name, f.type) for f in together.fields[:-1]] == [(f.name, f.type) for f in plans[0].fields]
    assert together.fields[-1].name == QUERY
    assert all(len(node.rows) == 3 for node in walk(together) if isinstance(node, Values))


def over_groupings(name: str, query: str) -> tuple[Relation, dict[str, Aggregate]]:
    """A stored view's query over its groupings, and the definitions of these."""
    normal = plan(query)
    view = stored(View(name, query, normal), normal, 0, strict=False)
    return view.over, view.groupings


GROUPED = "SELECT a, count(*) AS n, sum(c) AS s FROM u WHERE c < {n} GROUP BY a HAVING count(*) > {m}"


def test_the_number_of_the_query_is_a_key_of_its_groupings() -> None:
    parts = [over_groupings(name, GROUPED.format(n=n, m=n + 1)) for n, name in enumerate(("one", "two"))]
    shapes = [s for s in (shape(*part) for part in parts) if s is not None]
    assert shapes[0][0] == shapes[1][0]
    assert [[c.sql() for c in values] for _, values in shapes] == [["0", "1"], ["1", "2"]]
    together = in_one(shapes[0][0], [values for _, values in shapes], ["both"])
    (groups,) = together.groupings
    assert groups.keys[0].name == QUERY
    assert [k.name for k in groups.keys[1:]] == [k.name for k in parts[0][1]["one#groups1"].keys]
    scans = [node for node in walk(together.plan) if isinstance(node, Scan)]
    assert [(s.relation, s.columns[0].name) for s in scans] == [("both", QUERY)]
    assert [f.name for f in together.plan.fields] == ["a", "n", "s", QUERY]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM u WHERE c < 5",
        "SELECT DISTINCT n FROM (SELECT a, count(*) AS n FROM u WHERE c < 5 GROUP BY a)",
        "SELECT a, rank() OVER (ORDER BY n) AS r FROM (SELECT a, count(*) AS n FROM u WHERE c < 5 GROUP BY a)",
        "SELECT a, n FROM (SELECT a, count(*) AS n FROM u WHERE c < 5 GROUP BY a) UNION ALL SELECT 1, 2",
    ],
)
def test_groupings_without_keys_or_under_what_looks_at_several_rows_have_no_shape(query: str) -> None:
    over, groupings = over_groupings("v", query)
    assert groupings
    assert shape(over, groupings) is None

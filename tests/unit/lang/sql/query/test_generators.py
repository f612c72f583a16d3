"""Functions that make rows: one array, unnested."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, plan, types
from tidings.errors import InvalidExpression
from tidings.ir.expression import show
from tidings.ir.relation import Unnest
from tidings.ir.traverse import walk


def arrays(query: str) -> list[str]:
    return [show(n.array) for n in walk(bound(query)) if isinstance(n, Unnest)]


def test_a_view_and_an_item_of_the_list() -> None:
    assert bound("SELECT c, x FROM w LATERAL VIEW explode(array(c)) q AS x") == plan("""
        project result [c bigint := q.`w.c`, x bigint := q.x]
          project q [`w.c` bigint := w.c, `w.e` string := w.e, x bigint := element.element]
            unnest element [element bigint := ARRAY(w.c)]
              scan w w [c bigint, e string]
        """)
    assert bound("SELECT explode(array(c)) AS x, e FROM w") == plan("""
        project result [x bigint := element.element, e string := rows.e]
          unnest element [element bigint := rows.argument0]
            project rows [argument0 array<bigint> := ARRAY(w.c), e string := w.e]
              scan w w [c bigint, e string]
        """)


def test_positions_are_unnested_numbers() -> None:
    assert arrays("SELECT p FROM t LATERAL VIEW posexplode(arr) e AS p, x") == [
        "CASE WHEN SIZE(t.arr) > 0 THEN SEQUENCE(0, SIZE(t.arr) - 1) END"
    ]


def test_outer_has_a_null_for_nothing() -> None:
    expected = ["CASE WHEN SIZE(t.arr) > 0 THEN t.arr ELSE ARRAY(CAST(NULL AS STRUCT<x: INT>)) END"]
    assert arrays("SELECT a FROM t LATERAL VIEW OUTER explode(arr) e AS x") == expected
    assert arrays("SELECT a FROM t LEFT JOIN LATERAL explode(arr) AS e (x) ON true") == expected


def test_stacked_cells_have_the_types_of_their_columns() -> None:
    found = bound("SELECT stack(2, a, 'x', c) AS (i, j) FROM u")
    assert (names(found), types(found)) == (["i", "j"], ["bigint", "string"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT explode(arr) FROM t", ["col"]),
        ("SELECT posexplode(arr) FROM t", ["pos", "col"]),
        ("SELECT explode(map(a, b)) FROM t", ["key", "value"]),
        ("SELECT inline(arr) FROM t", ["x"]),
        ("SELECT stack(1, a, b) FROM t", ["col0", "col1"]),
        ("SELECT * FROM u LATERAL VIEW explode(array(a)) e", ["a", "c", "d", "col"]),
    ],
)
def test_names(query: str, expected: list[str]) -> None:
    assert names(bound(query)) == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT explode(a) AS x FROM t",
        "SELECT posexplode(arr) AS x FROM t",
        "SELECT inline(array(a)) FROM t",
        "SELECT stack(a, b) FROM t",
        "SELECT x FROM t LATERAL VIEW explode(arr) e AS x, y",
    ],
)
def test_invalid(query: str) -> None:
    with pytest.raises(InvalidExpression):
        bound(query)

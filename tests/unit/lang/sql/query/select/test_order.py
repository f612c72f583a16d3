"""ORDER BY with LIMIT and OFFSET: a window that numbers the rows, and a filter on the numbers."""

from __future__ import annotations

import pytest
import sqlglot

from tests.unit.schema import Known, analyzer, bound, names, plan
from tidings.errors import InvalidExpression, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Filter, Relation, Window
from tidings.ir.traverse import walk
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.select.order import ordinal


def order_of(query: str) -> list[str]:
    (window,) = [n for n in walk(bound(query)) if isinstance(n, Window)]
    return [show(o) for o in window.items[0].expression.args["order"].expressions]


def kept(query: str) -> list[str]:
    node: Relation = next(n for n in walk(bound(query)) if isinstance(n, Filter))
    assert isinstance(node, Filter)
    return [show(c) for c in node.conditions]


def test_limit_is_a_filter_on_places() -> None:
    assert bound("SELECT c FROM w ORDER BY c DESC LIMIT 2 OFFSET 1") == plan("""
        project result_2 [c bigint := result.c]
          filter [place.n > 1, place.n <= 3]
            window place [n int := ROW_NUMBER() OVER (ORDER BY result.c DESC, result.c ASC)]
              project result [c bigint := w.c]
                scan w w [c bigint, e string]
        """)


@pytest.mark.parametrize(
    ("clause", "conditions"),
    [
        ("LIMIT 3", ["place.n <= 3"]),
        ("LIMIT 0", ["place.n <= 0"]),
        ("LIMIT 3 OFFSET 0", ["place.n <= 3"]),
        ("LIMIT 3 OFFSET 2", ["place.n > 2", "place.n <= 5"]),
        ("OFFSET 2", ["place.n > 2"]),
    ],
)
def test_places(clause: str, conditions: list[str]) -> None:
    assert kept(f"SELECT a FROM u ORDER BY a {clause}") == conditions


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("a", "result.a"),
        ("1", "result.a"),
        ("n DESC", "result.n DESC"),
        ("a DESC NULLS FIRST", "result.a DESC NULLS FIRST"),
        ("d", "result.__o0"),
        ("c * 2", "result.__o0"),
    ],
)
def test_what_order_by_may_name(order: str, expected: str) -> None:
    """Outputs by number or name, and what the output does not have, in a column of its own."""
    query = f"SELECT a, c + 1 AS n FROM u ORDER BY {order} LIMIT 1"
    assert order_of(query)[0] == expected
    assert names(bound(query)) == ["a", "n"]


def test_the_whole_row_breaks_ties() -> None:
    ties = ["result.a ASC", "result.n ASC", "result.__o0 ASC"]
    assert order_of("SELECT a, c AS n FROM u ORDER BY d LIMIT 1")[1:] == ties


def test_limit_of_a_set_operation() -> None:
    for order in ("c", "1"):
        found = order_of(f"SELECT c FROM u UNION ALL SELECT c FROM w ORDER BY {order} DESC LIMIT 2")
        assert found == ["result_3.c DESC", "result_3.c ASC"]
    found = order_of("SELECT c FROM u UNION ALL SELECT c FROM w ORDER BY c % 2 LIMIT 2")
    assert [f.partition(".")[2] for f in found] == ["__o0", "c ASC", "__o0 ASC"]


def test_limit_all_is_none() -> None:
    assert bound("SELECT c FROM u LIMIT ALL") == bound("SELECT c FROM u")


def test_limit_in_a_correlated_subquery_counts_per_row_around() -> None:
    query = "SELECT a FROM u WHERE c IN (SELECT w.c FROM w WHERE w.e = 'x' AND w.c > u.a ORDER BY w.c LIMIT 1)"
    (window,) = [n for n in walk(bound(query)) if isinstance(n, Window)]
    assert len(window.items[0].expression.args["partition_by"]) == 1


def test_limit_needs_an_order() -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound("SELECT a FROM u LIMIT 1")
    assert refused.value.parameters == {"construct": "LIMIT without ORDER BY"}
    assert refused.value.hint is not None
    assert "ORDER BY" in refused.value.hint


@pytest.mark.parametrize("query", ["SELECT count(*) AS n FROM u LIMIT 5", "SELECT 1 AS one LIMIT 1"])
def test_a_limit_of_what_has_one_row_at_most(query: str) -> None:
    assert not [n for n in walk(bound(query)) if isinstance(n, Window)]


@pytest.mark.parametrize(("text", "expected"), [("1", "x"), ("2", "y"), ("'1'", None), ("a", None), ("1.5", None)])
def test_ordinals(text: str, expected: str | None) -> None:
    assert ordinal(Context(text, Known({}), analyzer()), sqlglot.parse_one(text), ["x", "y"]) == expected


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT a + 7 AS a FROM u GROUP BY 7", 35),
        ("SELECT a FROM u ORDER BY 0", 26),
        ("SELECT a FROM u UNION SELECT 1 ORDER BY 3 LIMIT 1", 41),
    ],
)
def test_a_number_without_an_output(query: str, column: int) -> None:
    with pytest.raises(InvalidExpression) as refused:
        bound(query)
    assert refused.value.place is not None
    assert refused.value.place.column == column


@pytest.mark.parametrize("limit", ["LIMIT 1 + 1", "LIMIT a", "LIMIT 1 OFFSET a", "FETCH FIRST 2 ROWS ONLY"])
def test_limits_are_numbers(limit: str) -> None:
    with pytest.raises(UnsupportedConstruct):
        bound(f"SELECT a FROM u ORDER BY a {limit}")

"""GROUP BY with several sets: one aggregate per set."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, plan, types
from tidings.errors import InvalidExpression, UnsupportedConstruct
from tidings.ir.relation import Aggregate
from tidings.ir.text import show
from tidings.ir.traverse import walk


def sets(grouping: str) -> list[str]:
    """The keys of each aggregate, as text."""
    found = [n for n in walk(bound(f"SELECT max(c) AS m FROM u GROUP BY {grouping}")) if isinstance(n, Aggregate)]
    return ["".join(i.expression.name for i in a.keys) for a in found]


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        ("a WITH ROLLUP", ["a", ""]),
        ("a, d WITH CUBE", ["ad", "a", "d", ""]),
        ("GROUPING SETS ((a, d), a, ())", ["ad", "a", ""]),
        ("GROUPING SETS ((a), (a))", ["a", "a"]),
        ("a, d GROUPING SETS ((d), ())", ["d", ""]),
        ("a, ROLLUP (d)", ["ad", "a"]),
        ("CUBE (a), ROLLUP (d)", ["ad", "a", "d", ""]),
        ("ROLLUP ((a, d))", ["ad", ""]),
        ("GROUPING SETS (ROLLUP (a), GROUPING SETS ((d), (a, d)))", ["a", "", "d", "ad"]),
        ("a, CUBE (a)", ["a", "a"]),
    ],
)
def test_sets(grouping: str, expected: list[str]) -> None:
    assert sets(grouping) == expected


def test_keys_outside_the_set_are_null_and_grouping_is_a_constant() -> None:
    assert bound("SELECT a, grouping(a) AS g FROM u GROUP BY ROLLUP (a)") == plan("""
        project result [a int := groups.key1, g tinyint := groups.agg1]
          union groups [key1 int, agg1 tinyint]
            project set [key1 int := groups_2.key1, agg1 tinyint := CAST(0 AS TINYINT)]
              aggregate groups_2 [key1 int := u.a] []
                scan u u [a int, c bigint, d decimal(10,2)]
            project set_2 [key1 int := CAST(NULL AS INT), agg1 tinyint := CAST(1 AS TINYINT)]
              filter [groups_3.n > 0]
                aggregate groups_3 [] [n bigint := COUNT(*)]
                  scan u u [a int, c bigint, d decimal(10,2)]
        """)


def test_grouping_id_reads_its_arguments_from_left_to_right() -> None:
    text = show(bound("SELECT grouping_id(a, d) AS x, grouping_id() AS y FROM u GROUP BY GROUPING SETS ((a), (d))"))
    assert text.count("CAST(1 AS BIGINT)") == text.count("CAST(2 AS BIGINT)") == 2


def test_types_of_grouping() -> None:
    assert types(bound("SELECT grouping(a) AS g, grouping_id(a) AS i FROM u GROUP BY CUBE (a)")) == [
        "tinyint",
        "bigint",
    ]


def test_grouping_of_something_else() -> None:
    with pytest.raises(InvalidExpression):
        bound("SELECT grouping(c) AS g FROM u GROUP BY ROLLUP (a)")


def test_totals() -> None:
    with pytest.raises(UnsupportedConstruct):
        bound("SELECT a FROM u GROUP BY a WITH TOTALS")

"""Outer, semi and anti joins are keyed by the columns their condition sets equal."""

from __future__ import annotations

import pytest

from tests.unit.schema import plan, program
from tidings.delta.differentiate.two_sided import is_linear, lift
from tidings.ir.expression import show
from tidings.ir.relation import OuterJoin, Scan, SemiJoin, Version
from tidings.ir.traverse import walk


def joined(kind: str, conditions: str) -> OuterJoin | SemiJoin:
    found = plan(f"""
        {kind} [{conditions}]
          scan u u [a int, c bigint, d decimal(10,2)]
          scan w w [c bigint, e string, a int]
        """)
    assert isinstance(found, OuterJoin | SemiJoin)
    return found


def key(conditions: str) -> tuple[list[str], list[str], tuple[str, ...]]:
    found = lift(joined("outer_join", conditions))
    left, right = found.inputs
    return [show(e) for e in left.key], [show(e) for e in right.key], found.key_types


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("u.c = w.c", (["u.c"], ["w.c"], ("bigint",))),
        ("w.c = u.c", (["u.c"], ["w.c"], ("bigint",))),
        ("u.c <=> w.c", (["u.c"], ["w.c"], ("bigint",))),
        ("u.c = w.c, u.a = w.a", (["u.c", "u.a"], ["w.c", "w.a"], ("bigint", "int"))),
        ("u.c = w.c, u.d > 1, u.a < w.a", (["u.c"], ["w.c"], ("bigint",))),
        ("u.a = w.c", (["CAST(u.a AS BIGINT)"], ["CAST(w.c AS BIGINT)"], ("bigint",))),
    ],
)
def test_keys(conditions: str, expected: tuple[list[str], list[str], tuple[str, ...]]) -> None:
    assert key(conditions) == expected


@pytest.mark.parametrize(
    "conditions",
    ["", "u.c < w.c", "u.c = w.c OR u.a = 1", "u.d = w.c", "u.c + 1 = w.c", "u.a = u.c", "NOT u.c = w.c", "u.c = 1"],
)
def test_without_an_equality_of_columns_there_is_no_key(conditions: str) -> None:
    """Inequalities, alternatives, computed values and unlike types."""
    assert key(conditions) == ([], [], ())


@pytest.mark.parametrize("kind", ["outer_join", "semi_join", "anti_join"])
def test_rows_meet_within_one_version(kind: str) -> None:
    node = joined(kind, "u.c = w.c, u.a > 1")
    found = lift(node)
    sides = [
        plan("scan u u [a int, c bigint, d decimal(10,2), __v bigint, __n bigint]"),
        plan("scan w w [c bigint, e string, a int, __v bigint, __n bigint]"),
    ]
    applied = found.apply(sides, sides[0])
    assert isinstance(applied, type(node))
    assert [show(c) for c in applied.conditions] == ["u.__v = w.__v", "u.c = w.c", "u.a > 1"]
    assert found.alias == "u"


def test_all_conditions_stay() -> None:
    """The key only says which rows to look at; whether they match is for the conditions."""
    node = joined("anti_join", "u.c = w.c")
    assert isinstance(node, SemiJoin)
    sides = [plan("scan u u [c bigint, __v bigint]"), plan("scan w w [c bigint, __v bigint]")]
    applied = lift(node).apply(sides, sides[0])
    assert isinstance(applied, SemiJoin)
    assert applied.anti
    assert applied.conditions[1:] == node.conditions


@pytest.mark.parametrize("kind", ["outer_join", "semi_join", "anti_join"])
def test_linear_in_the_left_side_alone(kind: str) -> None:
    node = joined(kind, "u.c = w.c")
    assert is_linear(node, frozenset({"u"}))
    assert not is_linear(node, frozenset({"w"}))
    assert not is_linear(node, frozenset({"u", "w"}))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT u.a, w.e FROM u LEFT JOIN w ON w.c = u.c",
        "SELECT a FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = u.c)",
        "SELECT a FROM u WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.c = u.c)",
    ],
)
def test_the_state_of_the_left_side_is_read_only_if_the_right_one_changes(query: str) -> None:
    def states(*changed: str) -> set[str]:
        scans = (n for step in program(query, *changed).steps for n in walk(step.plan) if isinstance(n, Scan))
        return {scan.relation for scan in scans if scan.version is not Version.DELTA}

    assert states("u") == {"w"}
    assert states("w") == states("u", "w") == {"u", "w"}

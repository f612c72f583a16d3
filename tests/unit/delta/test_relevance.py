"""What changes have to meet to matter to a step, told from its plan."""

from __future__ import annotations

import pytest

from tests.unit.schema import program, view_plans
from tidings.delta.relevance import relevance
from tidings.ir.expression import show


def conditions(query: str, *changed: str) -> list[tuple[str, list[str]]] | None:
    """The conditions of the first step for some changed tables."""
    found = relevance(program(query, *changed).steps[0].plan)
    return None if found is None else [(c.relation, [show(e) for e in c.conditions]) for c in found]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM u WHERE a < 5 AND c > 1", ["delta.a < 5", "delta.c > 1"]),
        ("SELECT u.a FROM u JOIN w ON w.c = u.c WHERE u.a < 5 AND w.e = 'x'", ["delta.a < 5"]),
        ("SELECT DISTINCT a FROM u WHERE a < 5", ["delta.a < 5"]),
        ("SELECT x FROM (SELECT a + 1 AS x FROM u) AS p WHERE x < 5", ["(delta.a + 1) < 5"]),
        ("SELECT a FROM u WHERE a < 5 AND NOT EXISTS (SELECT 1 FROM w WHERE w.c = u.c)", ["delta.a < 5"]),
    ],
)
def test_conditions_on_a_delta_alone(query: str, expected: list[str]) -> None:
    found = conditions(query, "u")
    assert found is not None
    assert ("u", expected) in found


def test_every_way_of_mattering_counts() -> None:
    query = "SELECT a FROM u WHERE a < 5 UNION ALL SELECT a FROM t WHERE b = 'x'"
    assert conditions(query, "t", "u") == [("u", ["delta.a < 5"]), ("t", ["delta.b = 'x'"])]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM u",
        "SELECT u.a FROM u JOIN w ON w.c = u.c AND u.d < w.c",
        "SELECT a FROM u WHERE a < 5 UNION ALL SELECT a FROM u",
        "SELECT u.a FROM u WHERE CAST(u.c AS TIMESTAMP) < now()",
    ],
)
def test_where_any_change_may_matter(query: str) -> None:
    assert conditions(query, "u") is None


def test_only_the_columns_that_are_mentioned() -> None:
    step = program("SELECT a, d FROM u WHERE c > 1", "u").steps[-1]
    (condition,) = relevance(step.plan) or ()
    assert [c.name for c in condition.columns] == ["c"]


def test_views_are_seen_through() -> None:
    views = view_plans(low="SELECT a, c FROM u WHERE a < 5")
    found = relevance(program("SELECT c FROM low WHERE c > 1", "u", views=views).steps[-1].plan)
    assert found is not None
    assert {show(e) for c in found for e in c.conditions} == {"delta.a < 5", "delta.c > 1"}

"""Where keys travel, and where they do not."""

from __future__ import annotations

import pytest

from tests.unit.schema import only_term, plan, program, view_plans
from tidings.delta.restrict import is_active, restrict, restrictions
from tidings.explain import algebra
from tidings.ir.expression import show
from tidings.ir.relation import Restrict, Scan
from tidings.ir.text import parse
from tidings.ir.traverse import walk


def restricted(query: str, changed: str, **views: str) -> list[str]:
    """Each restriction as ``relation.column in keys' plan``."""
    term = only_term(query, changed, views=view_plans(**views) if views else None)
    return [describe(r) for r in restrictions(term.plan)]


def describe(node: Restrict) -> str:
    sign = "<=>" if node.null_safe else "in"
    return f"{show(node.expression)} {sign} {algebra(node.keys)}"


def unrestricted(query: str, changed: str) -> set[str]:
    """Old scans no restriction stands on."""
    term = only_term(query, changed)
    covered = {id(n.input) for n in walk(term.plan) if isinstance(n, Restrict)}
    keys = {id(k) for n in walk(term.plan) if isinstance(n, Restrict) for k in walk(n.keys)}
    scans = [n for n in walk(term.plan) if isinstance(n, Scan) and not is_active(n)]
    return {n.relation for n in scans if id(n) not in covered | keys}


@pytest.mark.parametrize(
    ("query", "changed", "expected"),
    [
        ("SELECT t.b FROM t JOIN u ON t.a = u.a", "t", ["u.a in π(Δt)"]),
        ("SELECT t.b FROM t JOIN u ON t.a = u.a", "u", ["t.a in π(Δu)"]),
        ("SELECT t.b FROM t JOIN u ON t.a = u.c", "t", ["u.c in π(Δt)"]),
        ("SELECT t.b FROM t JOIN u ON t.a <=> u.a", "t", ["u.a <=> π(Δt)"]),
        ("SELECT x.b FROM t x JOIN u ON x.a = u.a JOIN w ON u.a = w.c", "t", ["u.a in π(Δt)", "w.c in π(Δt)"]),
        ("SELECT x.b FROM t x, u, w WHERE x.a = u.a AND x.a = w.c", "w", ["x.a in π(Δw)", "u.a in π(Δw)"]),
    ],
)
def test_keys_travel_along_equality_classes(query: str, changed: str, expected: list[str]) -> None:
    assert restricted(query, changed) == expected


def test_a_neighbour_that_is_restricted_hands_its_own_keys_on() -> None:
    """``w`` shares no class with the delta, but with ``u``, which the delta restricts."""
    found = restricted("SELECT t.b FROM t JOIN u ON t.a = u.a JOIN w ON u.c = w.c", "t")
    assert found[0] == "u.a in π(Δt)"
    assert "w.c in π(u⋉)" in found


@pytest.mark.parametrize(
    "condition",
    [
        "t.b = u.a",
        "u.d = t.a",
        "t.a < u.a",
        "t.a + 1 = u.a",
        "t.a = u.a OR t.b = 'x'",
        "NOT t.a = u.a",
        "t.a = 1 AND u.a = 1",
    ],
)
def test_withheld(condition: str) -> None:
    """Unlike types, inequalities, computed values and alternatives name no keys."""
    query = f"SELECT t.b FROM t JOIN u ON {condition}"
    assert restricted(query, "t") == []
    assert unrestricted(query, "t") == {"u"}


def test_null_safe_spreads_through_its_class() -> None:
    found = restricted("SELECT t.b FROM t, u, w WHERE t.a <=> u.a AND u.a = w.c", "t")
    assert found == ["u.a <=> π(Δt)", "w.c <=> π(Δt)"]


def test_constants_are_not_restricted() -> None:
    assert restricted("SELECT t.b FROM t JOIN (VALUES (1), (2)) AS v (i) ON t.a = v.i", "t") == []


def test_through_a_union() -> None:
    query = "SELECT q.x FROM (SELECT a AS x FROM t UNION ALL SELECT c FROM w) AS q JOIN u ON q.x = u.c"
    assert restricted(query, "u") == ["CAST(t.a AS BIGINT) in π(Δu)", "w.c in π(Δu)"]


def test_through_a_view() -> None:
    found = restricted("SELECT v.k FROM v JOIN w ON v.k = w.c", "w", v="SELECT u.c AS k FROM t JOIN u ON t.a = u.a")
    assert sorted(set(found)) == ["v_t.a in π(u⋉)", "v_u.c in π(Δw)"]


def test_through_a_projection_that_was_not_merged() -> None:
    """A constant text keeps its projection; the restriction passes it and meets the scan."""
    query = "SELECT q.s FROM (SELECT a, 'x' AS s FROM u) AS q JOIN t ON q.a = t.a"
    assert restricted(query, "t") == ["u.a in π(Δt)"]
    assert unrestricted(query, "t") == set()


def test_every_old_scan_of_a_connected_join_is_restricted() -> None:
    query = "SELECT t.b FROM t JOIN u ON t.a = u.a JOIN w ON u.c = w.c JOIN u AS u2 ON u2.c = w.c"
    for changed in ("t", "w"):
        assert unrestricted(query, changed) == set()


def test_new_states_are_restricted_too() -> None:
    (step,) = program("SELECT t.b FROM t JOIN u ON t.a = u.a", "t", "u").steps
    assert [describe(r) for t in step.terms for r in restrictions(t.plan)] == ["u.a in π(Δt)", "t.a in π(Δu)"]


def test_same_plan_without_an_active_input() -> None:
    node = plan("""
        join [t.a = u.a]
          scan old t t [a int]
          scan new u u [a int]
        """)
    assert restrict(node) is node


def test_what_is_active() -> None:
    delta, old = "scan delta t t [a int]", "scan old u u [a int]"
    assert is_active(parse(delta))
    assert not is_active(parse(old))
    assert is_active(parse(f"join []\n  {delta}\n  {old}"))
    assert not is_active(
        parse(f"union n [a int, __w bigint]\n  project p [a int := t.a, __w bigint := t.__w]\n    {delta}\n  {old}")
    )
    assert is_active(parse(f"filter [t.a = 1]\n  {delta}"))
    assert not is_active(parse("values v [a int] [(1)]"))

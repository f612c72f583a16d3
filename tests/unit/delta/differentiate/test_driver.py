"""The partial differentials of every operator, for every set of changed influents."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.unit.schema import normal, plan, view_plans
from tidings.delta.differentiate import Differential, differentiate, state
from tidings.explain import algebra
from tidings.ir.relation import Consolidate, Relation, Repeat, Restrict, Scan, Version
from tidings.ir.text import parse, show
from tidings.ir.traverse import walk


def terms(query: str, *changed: str) -> list[Differential]:
    return differentiate(normal(query), frozenset(changed))


def lines(query: str, *changed: str) -> list[str]:
    return [f"{t.influent}/{t.occurrence}: {algebra(t.rows.plan)}" for t in terms(query, *changed)]


def scans(node: Relation) -> list[tuple[str, Version]]:
    return [(n.relation, n.version) for n in walk(node) if isinstance(n, Scan)]


JOIN = "SELECT t.b, w.e FROM t JOIN u ON t.a = u.a JOIN w ON u.c = w.c"
CASES: list[tuple[str, tuple[str, ...], list[str]]] = [
    # select and project are linear
    ("SELECT b FROM t WHERE a > 1", ("t",), ["t/t: π(σ(Δt))"]),
    ("SELECT b FROM t WHERE a > 1", ("u",), []),
    ("SELECT b FROM t WHERE a > 1", (), []),
    # join: OLD before the changed input, NEW after it
    ("SELECT t.b FROM t JOIN u ON t.a = u.a", ("t",), ["t/t: π(Δt ⋈ u)"]),
    ("SELECT t.b FROM t JOIN u ON t.a = u.a", ("u",), ["u/u: π(t ⋈ Δu)"]),
    ("SELECT t.b FROM t JOIN u ON t.a = u.a", ("t", "u"), ["t/t: π(Δt ⋈ u′)", "u/u: π(t ⋈ Δu)"]),
    ("SELECT t.b FROM t JOIN u ON t.a = u.a", ("w",), []),
    (JOIN, ("t",), ["t/t: π(Δt ⋈ u ⋈ w)"]),
    (JOIN, ("t", "w"), ["t/t: π(Δt ⋈ u ⋈ w′)", "w/w: π(t ⋈ u ⋈ Δw)"]),
    (JOIN, ("t", "u", "w"), ["t/t: π(Δt ⋈ u′ ⋈ w′)", "u/u: π(t ⋈ Δu ⋈ w′)", "w/w: π(t ⋈ u ⋈ Δw)"]),
    # a self-join has one term per occurrence
    ("SELECT x.b FROM t x JOIN t y ON x.a = y.a", ("t",), ["t/x: π(Δt ⋈ t′)", "t/y: π(t ⋈ Δt)"]),
    # union: a term per changed branch
    ("SELECT a FROM t UNION ALL SELECT a FROM u", ("t",), ["t/t: π(π(Δt))"]),
    ("SELECT a FROM t UNION ALL SELECT a FROM u", ("t", "u"), ["t/t: π(π(Δt))", "u/u: π(π(Δu))"]),
    ("SELECT a FROM t UNION ALL SELECT a FROM t", ("t",), ["t/t: π(π(Δt))", "t/t_2: π(π(Δt))"]),
    # constants never change
    ("SELECT 1 AS one", ("t",), []),
    ("SELECT a FROM t UNION ALL SELECT 1", ("t",), ["t/t: π(π(Δt))"]),
    ("SELECT t.b FROM t, (VALUES (1), (2)) AS v (i) WHERE t.a = v.i", ("t",), ["t/t: π(Δt ⋈ constant)"]),
]


@pytest.mark.parametrize(("query", "changed", "expected"), CASES)
def test_terms(query: str, changed: tuple[str, ...], expected: list[str]) -> None:
    assert lines(query, *changed) == expected


@pytest.mark.parametrize("changed", [c for n in range(4) for c in combinations(("t", "u", "w"), n)])
def test_deltas_are_of_changed_influents_only(changed: tuple[str, ...]) -> None:
    found = terms(JOIN, *changed)
    assert [t.influent for t in found] == list(changed)
    for term in found:
        versions = scans(term.rows.plan)
        assert [r for r, v in versions if v is Version.DELTA] == [term.influent]
        place = [r for r, _ in versions].index(term.influent)
        assert all(v is Version.OLD for _, v in versions[:place])
        assert all(v is (Version.NEW if r in changed else Version.OLD) for r, v in versions[place + 1 :])


def test_a_join_with_a_union_below() -> None:
    query = "SELECT q.a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS q JOIN w ON q.a = w.c"
    assert lines(query, "t") == ["t/t: π(π(π(Δt)) ⋈ w)"]
    assert lines(query, "w") == ["w/w: π((π(π(t)) ⊎ π(π(u))) ⋈ Δw)"]


def test_projection_of_a_delta() -> None:
    (term,) = terms("SELECT a + 1 AS n FROM t WHERE a > 1", "t")
    assert term.rows.plan == plan("""
        project result [n int := t.a + 1, __t bigint := t.__t, __w bigint := t.__w]
          filter [t.a > 1]
            scan delta t t [a int]
        """)


def test_joined_weights_and_instants() -> None:
    first, _ = terms("SELECT t.b FROM t JOIN u ON t.a = u.a", "t", "u")
    assert "__t bigint := GREATEST(t.__t, u.__t), __w bigint := t.__w * u.__w" in show(first.rows.plan)


def test_old_rows_have_no_instant() -> None:
    assert state(normal("SELECT a FROM t"), frozenset({"t"}), Version.OLD).time is None
    assert state(normal("SELECT a FROM t"), frozenset({"t"}), Version.NEW).time is not None
    assert state(normal("SELECT a FROM t"), frozenset(), Version.NEW).time is None
    assert state(normal("SELECT 1 AS one"), frozenset(), Version.NEW).weight is None


def test_delta_plans_are_not_differentiated_again() -> None:
    delta = parse("scan delta t t [a int]")
    for node in (Consolidate(delta, "c"), Restrict(delta, delta.fields[0].expression, parse("scan old u u []"))):
        with pytest.raises(ValueError, match="delta plan"):
            differentiate(node, frozenset({"t"}))
        with pytest.raises(ValueError, match="delta plan"):
            state(node, frozenset({"t"}), Version.OLD)


def test_views_are_seen_through() -> None:
    views = view_plans(v="SELECT a AS k FROM t WHERE a > 0")
    found = differentiate(normal("SELECT v.k FROM v JOIN u ON v.k = u.a", views), frozenset({"t"}))
    assert [algebra(t.rows.plan) for t in found] == ["π(Δt ⋈ u)"]


KEYED = [
    "SELECT a, max(c) AS m FROM u GROUP BY a",
    "SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c",
    "SELECT u.a FROM u LEFT ANTI JOIN w ON u.c = w.c",
    "SELECT c FROM u EXCEPT SELECT c FROM w",
    "SELECT a, rank() OVER (ORDER BY c) AS r FROM u",
]


@pytest.mark.parametrize("query", KEYED)
def test_keyed_operators_are_steps_of_their_own(query: str) -> None:
    with pytest.raises(ValueError, match="step of its own"):
        differentiate(normal(query), frozenset({"u", "w"}))


@pytest.mark.parametrize("query", KEYED)
def test_the_old_state_of_a_keyed_operator_is_a_plain_bag(query: str) -> None:
    """Weights are summed and rows repeated below it, so each of its own rows counts once."""
    found = state(normal(query), frozenset(), Version.OLD)
    assert (found.time, found.weight) == (None, None)
    repeats = sum(isinstance(n, Repeat) for n in walk(found.plan))
    assert repeats == len([n for n in walk(found.plan) if isinstance(n, Scan)])

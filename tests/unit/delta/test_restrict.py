"""Where keys travel, and where they do not."""

from __future__ import annotations

import pytest

from tests.unit.schema import only_term, plan, program, view_plans
from tidings.delta.restrict import LARGEST_KEYS, is_active, restrict, restrictions
from tidings.explain import algebra
from tidings.ir.expression import ref, show
from tidings.ir.relation import Restrict, Scan, Version
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


def scan_restrictions(query: str, changed: str) -> dict[str, list[str]]:
    """Which columns of each old scan are restricted, by relation."""
    (term,) = program(query, changed).steps[-1].terms
    found: dict[str, list[str]] = {}
    for node in walk(term.plan):
        if isinstance(node, Scan) and node.version is Version.OLD:
            found.setdefault(node.relation, [])
    for node in restrictions(term.plan):
        below = node.input
        while isinstance(below, Restrict):
            below = below.input
        column = ref(node.expression)
        if isinstance(below, Scan) and below.version is Version.OLD and column is not None:
            found[below.relation].append(column[1])
    return {relation: sorted(set(columns)) for relation, columns in found.items()}


GROUPED = "SELECT t.b, q.n FROM t JOIN (SELECT a, c, count(*) AS n FROM u GROUP BY a, c) AS q ON t.a = q."
RANKED = (
    "SELECT t.b, q.r FROM t JOIN (SELECT a, c, rank() OVER (PARTITION BY {} ORDER BY d) AS r FROM u) AS q ON t.a = q.a"
)
LEFT = "SELECT t.b FROM t JOIN (SELECT u.a, u.c, w.c AS wc FROM u LEFT JOIN w ON u.c = w.c) AS q ON t.a = q."


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # groups: by a key, never by what is computed from a whole group
        (GROUPED + "a", {"u": ["a"]}),
        (GROUPED + "c", {"u": ["c"]}),
        (GROUPED + "n", {"u": []}),
        ("SELECT t.b FROM t JOIN (SELECT DISTINCT a FROM u) AS q ON t.a = q.a", {"u": ["a"]}),
        ("SELECT t.b FROM t JOIN (SELECT max(a) AS a FROM u) AS q ON t.a = q.a", {"u": []}),
        # windows: by what partitions all functions
        (RANKED.format("a"), {"u": ["a"]}),
        (RANKED.format("c, a"), {"u": ["a"]}),
        (RANKED.format("c"), {"u": []}),
        (RANKED.format("a % 2"), {"u": []}),
        ("SELECT t.b FROM t JOIN (SELECT a FROM u ORDER BY c LIMIT 3) AS q ON t.a = q.a", {"u": []}),
        # outer joins: the left side, and the right one along an equality
        (LEFT + "c", {"u": ["c"], "w": ["c"]}),
        (LEFT + "a", {"u": ["a"], "w": []}),
        (LEFT + "wc", {"u": [], "w": []}),
        # semi and anti joins
        (
            "SELECT t.b FROM t JOIN (SELECT c FROM u LEFT SEMI JOIN w USING (c)) AS q ON t.a = q.c",
            {"u": ["c"], "w": ["c"]},
        ),
        (
            "SELECT t.b FROM t JOIN (SELECT c FROM u LEFT ANTI JOIN w USING (c)) AS q ON t.a = q.c",
            {"u": ["c"], "w": ["c"]},
        ),
        (
            "SELECT t.b FROM t JOIN (SELECT a FROM u LEFT ANTI JOIN w USING (c)) AS q ON t.a = q.a",
            {"u": ["a"], "w": []},
        ),
        # set operations: both sides
        ("SELECT t.b FROM t JOIN (SELECT c FROM u EXCEPT SELECT c FROM w) AS q ON t.a = q.c", {"u": ["c"], "w": ["c"]}),
        (
            "SELECT t.b FROM t JOIN (SELECT c FROM u INTERSECT ALL SELECT c FROM w) AS q ON t.a = q.c",
            {"u": ["c"], "w": ["c"]},
        ),
    ],
)
def test_through_keyed_operators(query: str, expected: dict[str, list[str]]) -> None:
    assert scan_restrictions(query, "t") == expected


@pytest.mark.parametrize(
    ("query", "changed", "expected"),
    [
        ("SELECT a, max(c) AS m FROM u GROUP BY a", "u", {"u": ["a"]}),
        ("SELECT max(c) AS m FROM u", "u", {"u": []}),
        ("SELECT a, c, rank() OVER (PARTITION BY a ORDER BY c) AS r FROM u", "u", {"u": ["a"]}),
        ("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c", "w", {"u": ["c"], "w": ["c"]}),
        ("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c < w.c", "w", {"u": [], "w": []}),
        ("SELECT a FROM u WHERE c NOT IN (SELECT c FROM w)", "w", {"u": [], "w": []}),
        ("SELECT a FROM u WHERE c IN (SELECT c FROM w)", "w", {"u": ["c"], "w": ["c"]}),
        ("SELECT c FROM u INTERSECT SELECT c FROM w", "w", {"u": ["c"], "w": ["c"]}),
    ],
)
def test_old_rows_of_keyed_operators(query: str, changed: str, expected: dict[str, list[str]]) -> None:
    """The touched keys restrict every input; without a key there is nothing to restrict by."""
    assert scan_restrictions(query, changed) == expected


def test_keys_that_are_hard_to_find_restrict_nothing() -> None:
    deep = "scan delta t t [a int]"
    for _ in range(LARGEST_KEYS):
        deep = "filter [t.a > 1]\n" + "\n".join("  " + line for line in deep.splitlines())
    indented = "\n".join("  " + line for line in deep.splitlines())
    assert restrictions(restrict(parse(f"join [t.a = u.a]\n{indented}\n  scan old u u [a int]"))) == []
    assert len(restrictions(restrict(parse("join [t.a = u.a]\n  scan delta t t [a int]\n  scan old u u [a int]")))) == 1

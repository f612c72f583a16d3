"""The rules in their order: views open, unions flat, blocks merged, columns pruned."""

from __future__ import annotations

from tests.unit.schema import bound, normal, plan, view_plans
from tidings.rewrite.pipeline import normalise

VIEWS = view_plans(v="SELECT a AS k, b FROM t WHERE a > 0", x="SELECT v.k, u.c FROM v JOIN u ON v.k = u.a")


def test_a_query_over_views_is_one_join_over_tables() -> None:
    assert normal("SELECT x.c FROM x JOIN w ON x.c = w.c", VIEWS) == plan("""
        project result [c bigint := x_u.c]
          join [x_v_t.a > 0, x_v_t.a = x_u.a, x_u.c = w.c]
            scan t x_v_t [a int]
            scan u x_u [a int, c bigint]
            scan w w [c bigint]
        """)


def test_kept_views_are_not_merged() -> None:
    found = normalise(bound("SELECT k FROM v WHERE k = 2", VIEWS), VIEWS, keep=frozenset({"v"}))
    assert found == plan("""
        project result [k int := v.k]
          filter [v.k = 2]
            scan v v [k int]
        """)


def test_normalised_is_a_fixpoint() -> None:
    once = normal("SELECT x.c FROM x JOIN w ON x.c = w.c UNION ALL SELECT a FROM u", VIEWS)
    assert normalise(once, VIEWS) is once

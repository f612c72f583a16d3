"""``scan v`` becomes ``π(query of v)``."""

from __future__ import annotations

from tests.unit.schema import bound, plan, view_plans
from tidings.ir.relation import Project, Scan
from tidings.ir.traverse import walk
from tidings.rewrite.expand_views import expand_views

VIEWS = view_plans(v="SELECT c AS k, e FROM w", x="SELECT v.k, u.a FROM v JOIN u ON v.k = u.c")


def test_a_view_is_replaced_by_its_query() -> None:
    assert expand_views(bound("SELECT v.k FROM v", VIEWS), VIEWS) == plan("""
        project result [k bigint := v.k]
          project v [k bigint := v_v.k, e string := v_v.e]
            project v_v [k bigint := v_w.c, e string := v_w.e]
              scan w v_w [c bigint, e string]
        """)


def test_views_of_views() -> None:
    found = expand_views(bound("SELECT x.a FROM x", VIEWS), VIEWS)
    assert {n.relation for n in walk(found) if isinstance(n, Scan)} == {"u", "w"}


def test_a_view_twice_keeps_its_aliases_apart() -> None:
    found = expand_views(bound("SELECT p.k FROM v p JOIN v q ON p.k = q.k", VIEWS), VIEWS)
    scans = [n.alias for n in walk(found) if isinstance(n, Scan)]
    assert len(set(scans)) == 2


def test_kept_views_stay_scans() -> None:
    found = expand_views(bound("SELECT x.a FROM x", VIEWS), VIEWS, keep=frozenset({"v"}))
    assert {n.relation for n in walk(found) if isinstance(n, Scan)} == {"u", "v"}


def test_same_object_without_views() -> None:
    query = bound("SELECT a FROM t")
    assert expand_views(query, VIEWS) is query
    assert isinstance(query, Project)


def test_same_object_when_all_views_are_kept() -> None:
    query = bound("SELECT k FROM v", VIEWS)
    assert expand_views(query, VIEWS, keep=frozenset({"v"})) is query

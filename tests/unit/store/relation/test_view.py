"""Stored views: which groupings they keep, under which names, and what their query is over them."""

from __future__ import annotations

from tests.unit.schema import normal, view_plans
from tidings.ir.relation import Aggregate, Project, Relation, Scan
from tidings.ir.traverse import walk
from tidings.store.relation.view import StoredView, View, stored


def kept(query: str, views: dict[str, Relation] | None = None) -> StoredView:
    plan = normal(query, views)
    return stored(View("totals", query, plan), plan, 7, strict=False)


def scanned(node: Relation) -> set[str]:
    return {n.relation for n in walk(node) if isinstance(n, Scan)}


def test_a_view_without_groupings_keeps_its_rows() -> None:
    view = kept("SELECT a, c FROM u WHERE c > 1")
    assert list(view.tables) == ["totals"]
    assert view.over is view.plan
    assert [c.name for c in view.columns] == ["a", "c"]


def test_a_grouping_is_kept_beside_it() -> None:
    view = kept("SELECT a, sum(c) AS s FROM u GROUP BY a")
    assert list(view.tables) == ["totals#groups1", "totals"]
    assert scanned(view.over) == {"totals#groups1"}
    assert scanned(view.groupings["totals#groups1"]) == {"u"}
    assert not any(isinstance(n, Aggregate) for n in walk(view.over))


def test_a_kept_grouping_has_its_keys_and_accumulators() -> None:
    view = kept("SELECT a, sum(c) AS s FROM u GROUP BY a")
    assert [c.name for c in view.tables["totals#groups1"].columns] == ["key1", "rows", "sum1", "count2"]


def test_a_grouping_over_a_grouping_reads_it() -> None:
    view = kept("SELECT n, count(*) AS m FROM (SELECT a, count(*) AS n FROM u GROUP BY a) AS g GROUP BY n")
    assert list(view.groupings) == ["totals#groups1", "totals#groups2"]
    assert scanned(view.groupings["totals#groups2"]) == {"totals#groups1"}
    assert scanned(view.over) == {"totals#groups2"}


def test_what_cannot_be_carried_on_is_not_kept() -> None:
    view = kept("SELECT a, count(DISTINCT c) AS n FROM u GROUP BY a")
    assert view.groupings == {}
    assert any(isinstance(n, Aggregate) for n in walk(view.over))


def test_one_of_two_groupings_is_kept() -> None:
    view = kept("""
        SELECT x.a, x.n, y.m FROM (SELECT a, count(*) AS n FROM u GROUP BY a) AS x
        JOIN (SELECT a, count(DISTINCT c) AS m FROM u GROUP BY a) AS y ON x.a = y.a
    """)
    assert list(view.groupings) == ["totals#groups1"]
    assert scanned(view.over) == {"totals#groups1", "u"}


def test_groupings_inside_views_below_are_kept_too() -> None:
    views = view_plans(per_a="SELECT a, count(*) AS n FROM u GROUP BY a")
    assert list(kept("SELECT n FROM per_a WHERE n > 1", dict(views)).groupings) == ["totals#groups1"]


def test_its_query_has_the_columns_it_had() -> None:
    view = kept("SELECT a, avg(a) AS m, sum(d) AS s FROM u GROUP BY a")
    assert isinstance(view.over, Project)
    assert [(f.name, f.type) for f in view.over.fields] == [(f.name, f.type) for f in view.plan.fields]


def test_rows_reach_from_one_instant_to_another() -> None:
    view = kept("SELECT a FROM u")
    assert (view.since, view.until, view.is_outdated) == (7, 7, False)
    assert view.rows is view.tables["totals"]


def test_rows_that_do_not_count_any_more() -> None:
    view = kept("SELECT a FROM u")
    view.outdate()
    assert view.is_outdated

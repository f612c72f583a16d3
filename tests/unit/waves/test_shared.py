"""What stored views have in common: groups that are brought up to date at once, and views that several of them read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tests.unit.inside import scheduler_of, stored_view
from tests.unit.schema import bound, view_plans
from tidings import Database
from tidings.ir.relation import Relation
from tidings.waves import shared

VIEWS = view_plans(
    low="SELECT a, c FROM u WHERE c < 9",
    lower="SELECT a, c FROM low WHERE c < 5",
    other="SELECT e FROM w",
)


def common(*queries: str) -> list[str]:
    return shared.in_common([bound(q, VIEWS) for q in queries], VIEWS)


def test_a_view_that_one_query_reads_is_not_in_common() -> None:
    assert common("SELECT a FROM low", "SELECT e FROM other") == []
    assert common("SELECT p.a FROM low p JOIN low q ON p.a = q.a") == []


def test_views_in_common_come_after_those_they_read() -> None:
    assert common("SELECT a FROM lower", "SELECT c FROM lower", "SELECT a FROM low") == ["low", "lower"]


def test_a_view_may_be_in_common_through_another() -> None:
    assert common("SELECT a FROM lower", "SELECT c FROM lower") == ["lower"]
    assert common("SELECT a FROM lower", "SELECT a FROM low", "SELECT c FROM lower") == ["low", "lower"]


def test_views_of_one_shape_are_grouped_where_there_are_two() -> None:
    queries = {"a": "c < 1", "b": "c > 1", "c": "c < 2", "d": "c < 3", "e": "a = c"}
    plans = {name: bound(f"SELECT a FROM u WHERE {condition}") for name, condition in queries.items()}
    (group,) = shared.of_one_shape(plans)
    assert (group.views, group.name) == (("a", "c", "d"), "a and 2 more")


@pytest.fixture
def stored() -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1)) as db:
        db.sql("""
            CREATE TABLE t (k INT, x INT);
            CREATE VIEW positive AS SELECT k, x FROM t WHERE x > 0;
            CREATE VIEW counted AS SELECT k, count(*) AS n FROM t GROUP BY k;
            CREATE MATERIALIZED VIEW a AS SELECT k FROM positive;
            CREATE MATERIALIZED VIEW b AS SELECT x, count(*) AS n FROM positive GROUP BY x;
            CREATE MATERIALIZED VIEW c AS SELECT k AS m FROM a;
            CREATE MATERIALIZED VIEW d AS SELECT n FROM counted;
        """)
        yield db


def unstored(db: Database) -> dict[str, Relation]:
    relations = scheduler_of(db).relations
    names = {v.name for v in relations.stored()}
    return {name: plan for name, plan in relations.definitions().items() if name not in names}


def test_no_view_of_a_group_reads_another(stored: Database) -> None:
    views = scheduler_of(stored).relations.stored()
    assert [[v.name for v in group] for group in shared.groups(views, unstored(stored))] == [["a", "b"], ["c", "d"]]


def test_views_of_a_group_stand_at_one_instant(stored: Database) -> None:
    stored.sql("INSERT INTO t VALUES (1, 1)")
    stored.refresh("b")
    views = [stored_view(stored, name) for name in ("a", "b", "d")]
    assert [[v.name for v in group] for group in shared.groups(views, unstored(stored))] == [["a"], ["b"], ["d"]]


def test_a_query_over_a_shared_view_has_the_same_groupings(stored: Database) -> None:
    view, definitions = stored_view(stored, "b"), scheduler_of(stored).relations.definitions()
    query = shared.over_shared(view, definitions, frozenset({"positive"}))
    assert query is not None
    assert query.groupings.keys() == view.groupings.keys()
    assert query.groupings != view.groupings


def test_not_if_its_groupings_lie_inside_the_shared_view(stored: Database) -> None:
    view, definitions = stored_view(stored, "d"), scheduler_of(stored).relations.definitions()
    assert view.groupings
    assert shared.over_shared(view, definitions, frozenset({"counted"})) is None

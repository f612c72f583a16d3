"""How slices of transactions are planned: once for a query and the tables that were touched."""

from __future__ import annotations

import pytest

from tests.unit.inside import plan_of, scheduler_of
from tidings import Database
from tidings.waves.slices import SliceKind, SlicePlans

QUANTITY = SliceKind(frozenset(), frozenset({"quantity"}))


@pytest.fixture
def slices(db: Database) -> SlicePlans:
    return scheduler_of(db).slices


def test_a_query_is_planned_once_for_what_was_touched(db: Database, slices: SlicePlans) -> None:
    query = plan_of(db, "low")
    first = slices.plan("low", query, db.time, QUANTITY)
    db.sql("INSERT INTO quantity VALUES (1, 1)")
    assert slices.plan("low", query, db.time, QUANTITY) is first
    assert first.changed == {"quantity"}
    both = SliceKind(frozenset({"threshold"}), frozenset({"quantity"}))
    assert slices.plan("low", query, db.time, both) is not first


def test_a_new_definition_is_planned_for(db: Database, slices: SlicePlans) -> None:
    query = plan_of(db, "SELECT item FROM low")
    first = slices.plan("result", query, db.time, QUANTITY)
    db.sql("CREATE VIEW more AS SELECT item FROM low")
    assert slices.plan("result", query, db.time, QUANTITY) is not first


def test_over_a_stored_view_how_far_it_reaches_matters(db: Database, slices: SlicePlans) -> None:
    db.sql("CREATE MATERIALIZED VIEW stored AS SELECT item FROM threshold")
    query = plan_of(db, "SELECT s.item FROM stored s JOIN quantity q ON q.item = s.item")
    assert slices.plan("result", query, db.time, QUANTITY).definitions == {}
    assert slices.plan("result", query, db.time + 1, QUANTITY).definitions.keys() == {"stored"}


def test_views_in_common_are_those_with_touched_tables(db: Database, slices: SlicePlans) -> None:
    queries = {"one": plan_of(db, "SELECT item FROM low"), "two": plan_of(db, "SELECT qty FROM low")}
    views = slices.views_in_common(queries, db.time, frozenset({"quantity"}))
    assert views.keys() == {"low"}
    assert slices.views_in_common(queries, db.time, frozenset({"quantity"})) is views
    assert slices.views_in_common(queries, db.time, frozenset({"other"})) == {}
    alone = {"one": queries["one"]}
    assert slices.views_in_common(alone, db.time, frozenset({"quantity"})) == {}

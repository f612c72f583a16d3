"""A stored view is filled: from its query, or from groupings that have their rows."""

from __future__ import annotations

import pytest

from tests.unit.inside import scheduler_of, stored_view
from tidings import Database
from tidings.waves.fill import fill


@pytest.fixture
def stored(db: Database) -> Database:
    db.sql(
        "CREATE MATERIALIZED VIEW counts WITH (refresh = 'manual') AS "
        "SELECT item, count(*) AS n, sum(qty) AS s FROM quantity GROUP BY item"
    )
    db.sql("INSERT INTO quantity VALUES (1, 5), (1, 6), (2, 7)")
    return db


def rows(db: Database) -> list[tuple[object, ...]]:
    view = stored_view(db, "counts")
    source = view.rows.base
    assert source is not None
    assert (view.since, view.until) == (db.time, db.time)
    return sorted(tuple(row.values()) for row in db.query("counts").rows())


def test_a_view_and_its_groupings_are_computed(stored: Database) -> None:
    scheduler, view = scheduler_of(stored), stored_view(stored, "counts")
    fill(scheduler.storage, scheduler.engines, view, stored.time, {})
    assert rows(stored) == [(1, 2, 11), (2, 1, 7)]
    assert {name: table.base_size for name, table in view.tables.items()} == {"counts#groups1": 2, "counts": 2}


def test_groupings_that_have_their_rows_are_not_computed(stored: Database) -> None:
    scheduler, view = scheduler_of(stored), stored_view(stored, "counts")
    stored.refresh("counts")
    grouping = view.tables["counts#groups1"]
    fill(scheduler.storage, scheduler.engines, view, stored.time, {"counts#groups1": grouping})
    assert view.tables["counts#groups1"] is grouping
    assert rows(stored) == [(1, 2, 11), (2, 1, 7)]

"""How far stored views have come: position, lag, pending rows, and what went wrong."""

from __future__ import annotations

import pytest

from tests.unit.inside import scheduler_of, stored_view
from tidings import Database
from tidings.waves.status import ViewStatus, status


@pytest.fixture
def stored(db: Database) -> Database:
    db.sql("""
        CREATE MATERIALIZED VIEW items AS SELECT item FROM quantity;
        CREATE MATERIALIZED VIEW strict WITH (refresh = 'incremental strict') AS SELECT lim FROM threshold;
    """)
    return db


def view_status(db: Database, name: str) -> ViewStatus:
    return status(scheduler_of(db).relations, db.time).view(name)


def test_a_view_that_is_up_to_date(stored: Database) -> None:
    stored.sql("INSERT INTO quantity VALUES (1, 5), (2, 6)")
    stored.advance()
    assert view_status(stored, "ITEMS") == ViewStatus("items", "on advance", stored.time, 0, 0, None)


def test_a_view_that_is_behind(stored: Database) -> None:
    stored.sql("INSERT INTO quantity VALUES (1, 5), (2, 6)")
    stored.sql("INSERT INTO quantity VALUES (3, 7)")
    found = view_status(stored, "items")
    assert (found.position, found.lag, found.pending, found.failed) == (0, stored.time, 3, False)
    assert view_status(stored, "strict").pending == 0
    assert view_status(stored, "strict").refresh == "on advance strict"


def test_a_view_that_has_to_be_computed_anew(stored: Database) -> None:
    stored.sql("INSERT INTO quantity VALUES (1, 5)")
    stored_view(stored, "items").outdate()
    found = view_status(stored, "items")
    assert (found.position, found.pending) == (None, None)


def test_a_view_that_failed(db: Database) -> None:
    db.sql("CREATE TABLE texts (s STRING); CREATE MATERIALIZED VIEW n AS SELECT CAST(s AS INT) AS n FROM texts")
    db.sql("INSERT INTO texts VALUES ('x')")
    db.advance()
    found = view_status(db, "n")
    assert found.failed
    assert found.error is not None
    assert (found.position, found.pending) == (0, 1)

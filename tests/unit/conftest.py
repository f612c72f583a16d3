"""A DuckDB database whose clock is driven by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    """Two tables and a view, no rows."""
    with tidings.open(engine="duckdb", clock=clock) as database:
        database.sql("""
            CREATE TABLE quantity (item BIGINT, qty INT);
            CREATE TABLE threshold (item BIGINT, lim INT);
            CREATE VIEW low AS
              SELECT q.item, q.qty FROM quantity q JOIN threshold t ON q.item = t.item WHERE q.qty < t.lim;
        """)
        yield database

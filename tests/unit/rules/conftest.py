"""A shop whose rules are put to the test: on DuckDB, with a clock driven by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tidings
from tidings import Database, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def cascade() -> int:
    return 64


@pytest.fixture
def db(clock: ManualClock, cascade: int) -> Iterator[Database]:
    """Stock with limits, orders, and a log; two items are there."""
    with tidings.open(engine="duckdb", clock=clock, cascade=cascade) as database:
        database.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
            CREATE TABLE lim (item INT PRIMARY KEY, least INT);
            CREATE TABLE orders (item INT, qty INT);
            CREATE TABLE log (what STRING, item INT);
            CREATE VIEW low AS SELECT s.item, s.qty FROM stock s JOIN lim l ON s.item = l.item WHERE s.qty < l.least;
            INSERT INTO stock VALUES (1, 100), (2, 100);
            INSERT INTO lim VALUES (1, 10), (2, 20);
        """)
        yield database

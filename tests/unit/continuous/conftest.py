"""Messages that answer each other, and a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import tidings
from tidings import Database, ManualClock

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

UNANSWERED = (
    "SELECT m.id FROM msgs m WHERE m.ts + INTERVAL 14 DAYS < now()"
    " AND NOT EXISTS (SELECT * FROM msgs r WHERE r.answers = m.id)"
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with tidings.open(engine="duckdb", clock=clock) as database:
        database.sql("CREATE TABLE msgs (id INT, answers INT, ts TIMESTAMP)")
        database.sql("CREATE TABLE votes (id INT, voter STRING)")
        yield database


def answers(db: Database, query: str) -> list[tuple[object, ...]]:
    """What a query delivered, in order."""
    return sorted((tuple(row.values()) for row in db.query(query).rows()), key=repr)


def ids(db: Database, query: str) -> list[object]:
    """The first columns of what a query delivered."""
    return [row[0] for row in answers(db, query)]

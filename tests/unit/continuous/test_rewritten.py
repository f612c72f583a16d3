"""What matches is found by the rewriting of a query where that is true, and by its changes otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.continuous.conftest import BEGIN, DAY, answers, ids
from tidings import Database, ManualClock
from tidings.errors import InvalidContinuousQuery, InvalidSyntax

UNANSWERED = (
    "SELECT m.id FROM mail m WHERE m.ts + INTERVAL 14 DAYS < now()"
    " AND NOT EXISTS (SELECT * FROM mail r WHERE r.answers = m.id)"
)


@pytest.fixture
def mails(clock: ManualClock, tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=clock, retention=DAY) as db:
        db.sql("CREATE TABLE mail (id INT, answers INT, ts TIMESTAMP) WITH (append_only, time = ts)")
        yield db


def installed(db: Database, method: str) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY late AS {UNANSWERED} WITH (method = '{method}')")


def method(db: Database) -> str:
    (row,) = db.query("SELECT method FROM tidings.continuous_queries").rows()
    return str(row["method"])


def test_the_rewriting_knows_the_instants(mails: Database, clock: ManualClock) -> None:
    installed(mails, "rewriting")
    mails.load("mail", [{"id": 1, "ts": BEGIN - DAY}, {"id": 2, "ts": BEGIN - timedelta(hours=1)}])
    mails.advance()
    clock.advance(20 * DAY)
    mails.load("mail", [{"id": 3, "answers": 1, "ts": BEGIN + 5 * DAY}])
    mails.advance()
    tick = timedelta(microseconds=1)
    assert answers(mails, "late") == [(2, BEGIN - timedelta(hours=1) + 14 * DAY + tick), (3, BEGIN + 19 * DAY + tick)]
    assert method(mails) == "rewriting: as it was defined"


def test_a_time_column_that_does_not_say_when_rows_came_is_not_believed(mails: Database, clock: ManualClock) -> None:
    installed(mails, "rewriting")
    mails.advance()
    clock.advance(30 * DAY)
    mails.sql("INSERT INTO mail VALUES (1, NULL, TIMESTAMP '2026-01-02 00:00:00')")
    mails.advance()
    assert answers(mails, "late") == [(1, BEGIN + 30 * DAY)]
    assert method(mails) == "changes: the time column of mail does not say when its rows came"
    mails.sql("INSERT INTO mail VALUES (2, NULL, TIMESTAMP '2036-01-02 00:00:00')")
    mails.advance()
    clock.advance(DAY)
    mails.sql("INSERT INTO mail VALUES (3, NULL, now())")
    mails.advance()
    assert method(mails).startswith("changes:")


def test_what_is_not_retained_is_rewritten(mails: Database, clock: ManualClock) -> None:
    mails.load("mail", [{"id": 1, "ts": BEGIN - DAY}])
    clock.advance(10 * DAY)
    mails.load("mail", [{"id": 2, "answers": 1, "ts": BEGIN + 9 * DAY}])
    clock.advance(30 * DAY)
    mails.fold()
    mails.fold()
    assert mails._parts.relations.table("mail").forgotten
    installed(mails, "auto")
    mails.sql("CREATE CONTINUOUS QUERY retained AS SELECT id FROM mail WITH (method = 'changes')")
    mails.advance()
    assert answers(mails, "late") == [(2, BEGIN + 23 * DAY + timedelta(microseconds=1))]
    assert {at for _, at in answers(mails, "retained")} == {BEGIN + 9 * DAY}


def test_the_cheaper_way_is_taken_and_both_estimates_are_shown(mails: Database) -> None:
    installed(mails, "auto")
    mails.load("mail", [{"id": 1, "ts": BEGIN - DAY}])
    mails.advance()
    assert "would take" in method(mails)


def test_a_query_without_a_rewriting_cannot_ask_for_it(db: Database) -> None:
    with pytest.raises(InvalidContinuousQuery):
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT voter FROM votes WITH (method = 'rewriting')")
    with pytest.raises(InvalidSyntax):
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT voter FROM votes WITH (method = 'magic')")
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT voter FROM votes")
    db.sql("INSERT INTO votes VALUES (1, 'ann')")
    db.advance()
    assert (ids(db, "q"), method(db)) == (["ann"], "changes: votes is not append-only")

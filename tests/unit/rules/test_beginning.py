"""A rule reacts from the instant on at which it is created or enabled."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.rules.test_agenda import rows
from tidings import Database, ManualClock

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = """
    CREATE TABLE t (id INT, due TIMESTAMP); CREATE TABLE log (id INT);
    INSERT INTO t VALUES (1, TIMESTAMP '2026-01-02 00:00:00')
"""
RULES = [
    "ON EVERY INTERVAL 1 HOUR WHEN SELECT id FROM t",
    "ON AT TIMESTAMP '2026-01-02 00:00:00' WHEN SELECT id FROM t",
    "WHEN SELECT id FROM t WHERE due < now()",
]
ACTION = "DO INSERT INTO log SELECT id FROM condition"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def quiet(clock: ManualClock) -> Database:
    """A database whose last commit is long ago."""
    db = tidings.open(engine="duckdb", clock=clock)
    db.sql(SCHEMA)
    clock.advance(timedelta(days=3))
    return db


@pytest.mark.parametrize("rule", RULES)
def test_nothing_from_before_the_creation_fires(quiet: Database, rule: str) -> None:
    quiet.sql(f"CREATE RULE r {rule} {ACTION}")
    quiet.advance()
    assert rows(quiet, "log") == []


@pytest.mark.parametrize("rule", RULES)
def test_nothing_from_while_it_was_disabled_fires(clock: ManualClock, rule: str) -> None:
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql(f"{SCHEMA}; CREATE RULE r {rule} {ACTION}; DISABLE RULE r")
        clock.advance(timedelta(days=3))
        db.sql("ENABLE RULE r")
        db.advance()
        assert rows(db, "log") == []


def test_parts_of_an_event_from_while_it_was_disabled_do_not_count(clock: ManualClock) -> None:
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql(f"{SCHEMA}; CREATE EVENT e (x INT); CREATE EVENT f (x INT)")
        db.sql(f"CREATE RULE r ON SIGNAL e THEN SIGNAL f WITHIN INTERVAL 1 DAY WHEN SELECT id FROM t {ACTION}")
        db.sql("DISABLE RULE r; SIGNAL e VALUES (1); ENABLE RULE r; SIGNAL f VALUES (1)")
        db.advance()
        assert rows(db, "log") == []
        db.sql("SIGNAL e VALUES (1); SIGNAL f VALUES (1)")
        db.advance()
        assert rows(db, "log") == [(1,)]


def test_ticks_before_the_first_commit_do_not_fire() -> None:
    with tidings.open(engine="duckdb") as db:
        db.sql("CREATE TABLE t (id INT); CREATE TABLE log (id INT)")
        db.sql(f"CREATE RULE r ON EVERY INTERVAL 3650 DAYS WHEN SELECT count(*) AS id FROM t {ACTION}")
        db.advance()
        assert rows(db, "log") == []


def test_when_it_was_created_is_shown(quiet: Database) -> None:
    quiet.sql("CREATE RULE r WHEN SELECT id FROM t DO NOTIFY 'x'")
    assert rows(quiet, "SELECT created FROM tidings.rules") == [(START + timedelta(days=3),)]


def test_commits_come_after_what_was_judged_also_when_the_clock_goes_back(tmp_path: Path, clock: ManualClock) -> None:
    with tidings.open(str(tmp_path / "db"), engine="duckdb", clock=clock) as db:
        db.sql(f"{SCHEMA}; CREATE RULE r WHEN SELECT id FROM t WHERE due < now() {ACTION}")
        clock.advance(timedelta(days=3))
        db.advance()
    with tidings.open(str(tmp_path / "db"), engine="duckdb", clock=ManualClock(START)) as db:
        db.sql("INSERT INTO t VALUES (2, TIMESTAMP '2026-01-02 00:00:00')")
        db.advance()
        assert rows(db, "log") == [(1,), (2,)]


def test_the_log_is_kept_for_as_long_as_an_event_may_take(clock: ManualClock) -> None:
    with tidings.open(engine="duckdb", clock=clock, retention=timedelta(days=7)) as db:
        db.sql(f"{SCHEMA}; CREATE EVENT e (x INT); CREATE EVENT f (x INT)")
        db.sql(f"CREATE RULE r ON SIGNAL e THEN SIGNAL f WITHIN INTERVAL 30 DAYS WHEN SELECT id FROM t {ACTION}")
        db.sql("SIGNAL e VALUES (1)")
        clock.advance(timedelta(days=8))
        db.sql("INSERT INTO t VALUES (2, NULL)")
        db.fold()
        db.sql("SIGNAL f VALUES (1)")
        db.advance()
        assert rows(db, "log") == [(1,), (2,)]


def test_a_backtest_starts_at_the_oldest_retained_instant(quiet: Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tidings.rules"):
        found = quiet.backtest("CREATE RULE b ON EVERY INTERVAL 6 HOURS WHEN SELECT id FROM t DO NOTIFY 'x'")
    assert len(found) == 13
    assert "13 instants" in caplog.text

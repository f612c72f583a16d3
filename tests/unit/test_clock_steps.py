"""A clock that is wrong: readings far ahead are refused, and what was told of an instant holds after a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.eventually import eventually
from tidings import Database, ManualClock
from tidings.clock import micros
from tidings.errors import ClockTooFarAhead, MustRefetch
from tidings.store.catalog.facts import SETTLED, SettledNote

START = datetime(2026, 1, 1, tzinfo=UTC)
FAR = datetime(2126, 1, 1, tzinfo=UTC)
TABLES = """
    CREATE TABLE t (a INT, due TIMESTAMP);
    CREATE MATERIALIZED VIEW overdue AS SELECT a FROM t WHERE due < now();
    INSERT INTO t VALUES (1, TIMESTAMP '2026-06-01 00:00:00')
"""
PAST = "SELECT a FROM t WHERE due < now()"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.tidings"


@pytest.fixture
def db(path: Path, clock: ManualClock) -> Iterator[Database]:
    with tidings.open(path, engine="duckdb", clock=clock) as database:
        database.sql(TABLES)
        yield database


def test_a_reading_far_ahead_is_refused_and_leaves_nothing(db: Database, path: Path, clock: ManualClock) -> None:
    before = db.time
    clock.set(FAR)
    for attempt in ("INSERT INTO t VALUES (2, NULL)", "CREATE RULE r ON EVERY INTERVAL 1 DAY DO NOTIFY 'c'", PAST):
        with pytest.raises(ClockTooFarAhead):
            db.sql(attempt)
    with pytest.raises(ClockTooFarAhead):
        db.advance()
    assert db.time == before
    assert db.query("SELECT a FROM t").rows() == [{"a": 1}]
    clock.set(datetime(2026, 1, 2, tzinfo=UTC))
    db.sql("INSERT INTO t VALUES (2, NULL)")
    assert db.time == clock.now()
    assert db.query("overdue").rows() == []
    db.close()
    with tidings.open(path, engine="duckdb", clock=clock) as again:
        assert again.query("overdue").rows() == []


def test_history_is_not_forgotten_by_a_clock_that_is_wrong(db: Database, clock: ManualClock) -> None:
    db.fold()
    first = db.time
    clock.advance(timedelta(days=1))
    db.sql("DELETE FROM t")
    clock.set(FAR)
    with pytest.raises(ClockTooFarAhead):
        db.fold()
    clock.set(START + timedelta(days=2))
    assert len(db.query("t", as_of=first)) == 1


def test_a_statement_accepts_it_and_it_holds_after_a_restart(db: Database, path: Path, clock: ManualClock) -> None:
    clock.set(FAR)
    assert db.sql("ACCEPT CLOCK") is None
    assert db.query("overdue").rows() == [{"a": 1}]
    db.close()
    with tidings.open(path, engine="duckdb", clock=clock) as again:
        again.sql("INSERT INTO t VALUES (2, NULL)")
        assert again.time == micros(FAR) + 1


def test_the_step_may_be_another_or_any(path: Path, clock: ManualClock) -> None:
    step = timedelta(hours=1)
    with tidings.open(path, engine="duckdb", clock=clock, max_clock_step=step) as db:
        db.sql(TABLES)
        clock.advance(step)
        db.sql("INSERT INTO t VALUES (2, NULL)")
        clock.advance(step + timedelta(microseconds=1))
        with pytest.raises(ClockTooFarAhead):
            db.sql("INSERT INTO t VALUES (3, NULL)")
    with tidings.open(path, engine="duckdb", clock=clock, max_clock_step=step) as db, pytest.raises(ClockTooFarAhead):
        db.sql("INSERT INTO t VALUES (3, NULL)")
    clock.set(FAR)
    with tidings.open(path, engine="duckdb", clock=clock, max_clock_step=None) as db:
        db.sql("INSERT INTO t VALUES (3, NULL)")
        assert db.time == micros(FAR)


def test_a_clock_that_was_never_set_may_step_to_the_present() -> None:
    clock = ManualClock(1000)
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql(TABLES)
        clock.set(START)
        db.sql("INSERT INTO t VALUES (2, NULL)")
        assert db.time == micros(START)


def test_a_reader_refuses_it_too(db: Database, path: Path, clock: ManualClock) -> None:
    with tidings.open(path, engine="duckdb", clock=clock, read_only=True) as reader:
        clock.set(FAR)
        with pytest.raises(ClockTooFarAhead):
            reader.query(PAST)
        reader.sql("ACCEPT CLOCK")
        assert reader.query(PAST).rows() == [{"a": 1}]
    with pytest.raises(ClockTooFarAhead):
        db.query(PAST)


def test_threads_of_the_database_say_so_and_go_on(db: Database, clock: ManualClock) -> None:
    db.start()
    clock.set(FAR)
    eventually(lambda: "ClockTooFarAhead" in str(db.status().runner.error))
    clock.set(START + timedelta(days=1))
    eventually(lambda: db.status().runner.error is None)


def test_what_was_told_of_an_instant_holds_after_a_restart_with_an_earlier_clock(path: Path) -> None:
    clock = ManualClock(1000)
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (a INT, due TIMESTAMP)")
        clock.set(5_000_000)
        subscription = db.subscribe(PAST)
        list(subscription)
        position = subscription.position
    clock.set(3_000_000)
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("INSERT INTO t VALUES (1, TIMESTAMP '1970-01-01 00:00:00')")
        assert db.time == 5_000_001
        (batch,) = db.subscribe(PAST, since=position)
        assert [change.row for change in batch.changes.rows()] == [{"a": 1}]


def test_the_note_is_written_ahead_and_made_exact_when_the_database_is_closed(path: Path) -> None:
    clock, notes = ManualClock(START), []
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (a INT, due TIMESTAMP)")
        journal = db._parts.storage.journal
        for _ in range(30):
            clock.advance(timedelta(milliseconds=100))
            db.query(PAST)
            notes.append(journal.note(SETTLED))
        assert 2 <= len(set(notes)) <= 4
        assert all(SettledNote.read(note).until >= micros(START) for note in notes)
    with tidings.open(path, engine="duckdb", clock=ManualClock(0)) as db:
        assert db._parts.timeline.answered_until == clock.now()


CODE = """
import os, signal, sys, tidings
clock = tidings.ManualClock(int(sys.argv[2]))
db = tidings.open(sys.argv[1], engine="duckdb", clock=clock)
db.sql("CREATE TABLE t (a INT, due TIMESTAMP)")
clock.set(clock.now() + 60_000_000)
subscription = db.subscribe("SELECT a FROM t WHERE due < now()")
list(subscription)
print(subscription.position.token, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_holds_after_a_crash(path: Path) -> None:
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CODE, str(path), str(micros(START))]
    life = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, check=False)
    assert life.returncode == -signal.SIGKILL, life.stderr
    told = int(life.stdout.partition("@")[0])
    with tidings.open(path, engine="duckdb", clock=ManualClock(START)) as db:
        db.sql("INSERT INTO t VALUES (1, TIMESTAMP '2000-01-01 00:00:00')")
        assert db.time > told
        (batch,) = db.subscribe(PAST, since=life.stdout.strip())
        assert batch.time == db.time


def test_a_position_that_a_backup_does_not_know_is_refused(path: Path, tmp_path: Path, clock: ManualClock) -> None:
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (a INT, due TIMESTAMP)")
        db.query(PAST)
        db.backup(tmp_path / "backup")
        clock.advance(timedelta(milliseconds=300))
        db.sql("INSERT INTO t VALUES (1, TIMESTAMP '2000-01-01 00:00:00')")
        subscription = db.subscribe(PAST)
        list(subscription)
    tidings.restore(tmp_path / "backup", tmp_path / "again")
    with tidings.open(tmp_path / "again", engine="duckdb", clock=clock) as again, pytest.raises(MustRefetch):
        list(again.subscribe(PAST, since=subscription.position))

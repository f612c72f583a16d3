"""A load has an instant of its own, though its rows count as having been there before the first transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import CheckViolated, MustRefetch

START = datetime(2026, 1, 1, tzinfo=UTC)
BILLS = [(1, datetime(2020, 1, 1)), (2, START + timedelta(hours=1)), (3, None)]
LATE = "SELECT id FROM bill WHERE due < now()"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


def opened(path: Path | None, clock: ManualClock) -> Database:
    return tidings.open(path, engine="duckdb", clock=clock)


@pytest.mark.parametrize("in_folder", [False, True])
def test_the_time_is_that_of_the_load(in_folder: bool, clock: ManualClock, tmp_path: Path) -> None:
    path = tmp_path / "db" if in_folder else None
    with opened(path, clock) as db:
        db.sql("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
        assert db.time == 0
        db.load("t", [(1,)])
        first = db.time
        assert first == clock.now()
        db.load("u", [(1,)])
        assert db.time == first + 1
        db.sql("INSERT INTO t VALUES (2)")
        assert db.time == first + 2
        assert [c.row for c in db.changes("t", since=first)] == [{"a": 2}]
        assert db.query("t", as_of=first).rows() == [{"a": 1}]
        last = db.time
    if path is not None:
        with opened(path, clock) as db:
            assert db.time == last


def test_a_load_is_the_last_thing_a_reopened_database_knows(clock: ManualClock, tmp_path: Path) -> None:
    with opened(tmp_path, clock) as db:
        db.sql("CREATE TABLE t (a INT)")
        db.load("t", [(1,)])
        loaded = db.time
        with tidings.open(tmp_path, engine="duckdb", read_only=True) as reader:
            assert (reader.time, reader.query("t").rows()) == (loaded, [{"a": 1}])
    with opened(tmp_path, clock) as db:
        assert db.time == loaded
        db.sql("INSERT INTO t VALUES (2)")
        assert db.time == loaded + 1


def test_a_load_that_is_refused_has_no_instant(clock: ManualClock, tmp_path: Path) -> None:
    with opened(tmp_path, clock) as db:
        db.sql("CREATE TABLE t (a INT CHECK (a > 0))")
        with pytest.raises(CheckViolated):
            db.load("t", [(0,)])
        assert db.time == 0
        db.load("t", [(1,)])
        assert db.time == clock.now()


def test_positions_from_before_a_load_are_refused_and_its_own_is_not(clock: ManualClock) -> None:
    with opened(None, clock) as db:
        db.sql("CREATE TABLE t (a INT); CREATE TABLE u (a INT); INSERT INTO u VALUES (1)")
        before = db.time
        db.load("t", [(1,)])
        at = db.time
        db.sql("INSERT INTO t VALUES (2)")
        assert [b.changes.rows()[0].row for b in db.subscribe("t", since=at)] == [{"a": 2}]
        with pytest.raises(MustRefetch):
            list(db.subscribe("t", since=before))


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_first_look_at_what_reads_the_clock_begins_with_the_database(
    in_folder: bool, clock: ManualClock, tmp_path: Path
) -> None:
    path = tmp_path / "db" if in_folder else None
    with opened(path, clock) as db:
        db.sql("CREATE TABLE bill (id INT, due TIMESTAMP)")
        assert db.changes(LATE).rows() == []
        db.load("bill", BILLS)
        position = db.time
        db.sql(f"CREATE VIEW late AS {LATE}; CREATE MATERIALIZED VIEW kept AS {LATE}")
        for name in ("late", "kept"):
            assert db.query(name).rows() == [{"id": 1}]
            assert db.changes(name, per_commit=True).rows() == []
            assert list(db.subscribe(name, since=position)) == []
            (snapshot,) = db.subscribe(name)
            assert [c.row for c in snapshot.changes] == [{"id": 1}]
        assert all(wave.since >= position - 1 for wave in db.waves())
        clock.advance(timedelta(hours=2))
        expected = [({"id": 2}, tidings.micros(START + timedelta(hours=1)) + 1)]
        for name in ("late", "kept"):
            assert [(c.row, c.time) for c in db.changes(name, per_commit=True)] == expected
            assert [c.row for c in db.changes(name, until=position)] == []
    if path is not None:
        with opened(path, clock) as db:
            assert [(c.row, c.time) for c in db.changes("late", per_commit=True)] == expected


def test_a_history_begins_with_its_first_row(clock: ManualClock, tmp_path: Path) -> None:
    began = tidings.micros(START - timedelta(days=30))
    with opened(tmp_path, clock) as db:
        db.sql("CREATE TABLE msg (id INT, ts TIMESTAMP) WITH (append_only, time = ts)")
        db.load("msg", [(1, START - timedelta(days=30)), (2, START - timedelta(days=1))])
        text = "SELECT id FROM msg WHERE ts + INTERVAL 7 DAYS < now()"
        (change,) = db.changes(text, per_commit=True)
        assert (change.row, change.time) == ({"id": 1}, began + 7 * 86_400 * 10**6 + 1)
        assert db.waves()[-1].since == began - 1


def test_a_rule_on_the_clock_fires_once_for_what_is_loaded(clock: ManualClock) -> None:
    with opened(None, clock) as db:
        db.sql(f"CREATE TABLE bill (id INT, due TIMESTAMP); CREATE RULE remind WHEN {LATE} DO NOTIFY 'ann'")
        clock.advance(timedelta(minutes=30))
        db.load("bill", BILLS)
        fired = "SELECT rows FROM tidings.firings"
        assert [row["rows"] for row in db.query(fired)] == ['[{"id": 1}]']
        db.advance()
        assert len(db.query(fired)) == 1
        clock.advance(timedelta(hours=2))
        db.advance()
        db.advance()
        assert sorted(row["rows"] for row in db.query(fired)) == ['[{"id": 1}]', '[{"id": 2}]']

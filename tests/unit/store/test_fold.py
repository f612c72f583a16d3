"""Folds: when they begin, what they make, what happens meanwhile and when they fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, current_thread

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.engine.backend import Backend
from tidings.engine.duckdb import DuckDB
from tidings.engine.location import Location
from tidings.errors import EngineFailed
from tidings.store.fold import FoldPolicy
from tidings.store.relation.log_range import LogRange
from tidings.store.relation.table import Table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.tidings"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    """A table in a folder that is folded when three rows are logged."""
    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as database:
        database._parts.folding.policy = FoldPolicy(2, 0.0)
        database.sql("CREATE TABLE t (x INT, s STRING)")
        yield database


def table(db: Database) -> Table:
    return db._parts.relations.table("t")


def put(db: Database, *values: int) -> None:
    with db.transaction() as tx:
        tx.insert("t", [(v, str(v)) for v in values])


def numbers(db: Database) -> list[int]:
    return sorted(r["x"] for r in db.query("t").rows())


def test_a_log_that_has_grown_is_folded(db: Database) -> None:
    put(db, 1)
    put(db, 2)
    assert not db._parts.folding.running
    put(db, 3)
    assert db._parts.folding.running == {table(db).id}
    db._parts.folding._settle()
    assert (table(db).history.since_base(), table(db).base_size, table(db).base_time) == (0, 3, 3)
    assert numbers(db) == [1, 2, 3]


def test_a_share_of_the_base() -> None:
    some = Table("t", ())
    some.set_base("t", 1_000_000)
    assert FoldPolicy().limit(some) == 100_000
    assert FoldPolicy().limit(Table("t", ())) == 20_000


class Slow(DuckDB):
    """An engine that waits before it saves."""

    def __init__(self, go: Event) -> None:
        super().__init__()
        self.go, self.begun = go, Event()
        self.thread = ""

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        self.thread = current_thread().name
        self.begun.set()
        assert self.go.wait(60)
        super().save(text, path, sorted_by, rows_per_file)


@pytest.fixture
def slow(db: Database, monkeypatch: pytest.MonkeyPatch) -> Slow:
    """The engine that folds, waiting until it may go."""
    engine = Slow(Event())
    monkeypatch.setattr(DuckDB, "sibling", lambda self: engine)
    return engine


def test_commits_go_on_while_a_fold_is_under_way(db: Database, slow: Slow) -> None:
    put(db, 1, 2, 3)
    with db.transaction() as tx:
        tx.delete("t", [(1, "1")])
        tx.insert("t", [(4, "4")])
    assert numbers(db) == [2, 3, 4]
    assert table(db).base is None
    slow.go.set()
    db._parts.folding._settle()
    assert slow.thread == "tidings-fold"
    assert (table(db).base_time, table(db).base_size, table(db).history.since_base()) == (1, 3, 2)
    assert numbers(db) == [2, 3, 4]
    assert [(c.row["x"], c.time, c.weight) for c in db.changes("t", per_commit=True).rows()] == [
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 1),
        (1, 2, -1),
        (4, 2, 1),
    ]


def test_closing_waits_and_adopts(db: Database, slow: Slow, path: Path) -> None:
    put(db, 1, 2, 3)
    assert slow.begun.wait(60)
    slow.go.set()
    db.close()
    with tidings.open(path, engine="duckdb") as again:
        assert (table(again).base_size, table(again).history.since_base()) == (3, 0)


def test_closing_begins_nothing(db: Database, slow: Slow, path: Path) -> None:
    db.sql("CREATE TABLE u (x INT, s STRING)")
    put(db, 1, 2, 3)
    assert slow.begun.wait(60)
    with db.transaction() as tx:
        tx.insert("u", [(n, "") for n in range(5)])
    slow.go.set()
    db.close()
    with tidings.open(path, engine="duckdb") as again:
        assert table(again).base_size == 3
        assert again._parts.relations.table("u").history.since_base() in (0, 5)
        assert len(again.query("u")) == 5


def test_rows_with_maps_and_repeated_rows(path: Path) -> None:
    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as db:
        db.sql("CREATE TABLE m (x INT, m MAP<STRING, INT>); CREATE TABLE t (x INT, s STRING)")
        db._parts.folding.policy = FoldPolicy(0, 0.0)
        for change in (1, -1, 3, -1, 2):
            with db.transaction() as tx:
                act = tx.insert if change > 0 else tx.delete
                act("t", [(1, "a")] * abs(change) + [(None, None)] * abs(change))
                act("m", [{"x": 1, "m": [("k", 1)]}] * abs(change))
            db._parts.folding._settle()
        assert sorted(map(str, db.query("t").rows())) == sorted(
            map(str, [{"x": 1, "s": "a"}] * 4 + [{"x": None, "s": None}] * 4)
        )
        assert db.query("m").rows() == [{"x": 1, "m": [("k", 1)]}] * 4
        assert not db._parts.folding.failures
        assert table(db).history.since_base() == 0


def test_a_dropped_table_has_no_use_for_its_fold(db: Database, slow: Slow, path: Path) -> None:
    put(db, 1, 2, 3)
    db.sql("DROP TABLE t; CREATE TABLE t (x INT, s STRING)")
    put(db, 9)
    slow.go.set()
    db._parts.folding._settle()
    assert not db._parts.folding.failures
    assert numbers(db) == [9]
    assert list((path / "base").rglob("*.parquet")) == []


def test_a_table_that_was_altered_has_no_use_for_its_fold(db: Database, slow: Slow) -> None:
    put(db, 1, 2, 3)
    assert slow.begun.wait(60)
    db.sql("ALTER TABLE t DROP COLUMN s; ALTER TABLE t ADD COLUMN s STRING DEFAULT 'new'")
    slow.go.set()
    db._parts.folding._settle()
    assert not db._parts.folding.failures
    assert sorted(tuple(r.values()) for r in db.query("t").rows()) == [(1, "new"), (2, "new"), (3, "new")]


def test_a_view_that_began_anew_has_no_use_for_its_fold(db: Database, slow: Slow) -> None:
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT x FROM t")
    put(db, 1, 2, 3)
    db.advance()
    db._parts.scheduler.fill(db._parts.relations.stored()[0], db.time)
    slow.go.set()
    db._parts.folding._settle()
    assert sorted(r["x"] for r in db.query("v").rows()) == [1, 2, 3]
    assert not db._parts.folding.failures


class Broken(DuckDB):
    """An engine that cannot save."""

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        raise EngineFailed(engine="duckdb", reason="the disk is full")


def test_a_fold_that_fails_is_told_and_tried_again_later(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(DuckDB, "sibling", lambda self: Broken())
    with caplog.at_level(logging.WARNING):
        put(db, 1, 2, 3)
        db._parts.folding._settle()
    assert "t could not be folded" in caplog.text
    (status,) = db.status().tables
    assert "the disk is full" in (status.error or "")
    put(db, 4)
    assert not db._parts.folding.running, "not again at once"
    assert numbers(db) == [1, 2, 3, 4]
    put(db, 5, 6)
    assert db._parts.folding.running
    db._parts.folding._settle()
    assert db.fold() == 1
    (status,) = db.status().tables
    assert (status.error, status.logged, status.rows) == (None, 0, 6)


def test_rows_of_folded_entries_are_let_go(db: Database) -> None:
    put(db, 1, 2, 3)
    db._parts.folding._settle()
    log = table(db).entry_log
    assert LogRange(log, (0, 0), log.end).rows_in_memory() is None
    assert sorted(r["x"] for r in db.query("t", as_of=0).rows()) == []
    assert len(db.changes("t")) == 3


@pytest.mark.parametrize("at_once", [False, True])
def test_a_log_of_many_entries_becomes_one(path: Path, at_once: bool) -> None:
    clock = ManualClock(1)
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (x INT, s STRING)")
        with tidings.open(path, engine="duckdb", read_only=True) as reader:
            for number in range(1, 21):
                if number == 20 and not at_once:
                    db._parts.folding.policy = FoldPolicy(2, 0.0)
                clock.set(number)
                put(db, number)
                if number == 10:
                    assert numbers(reader) == list(range(1, 11))
            db.fold() if at_once else db._parts.folding._settle()
            assert numbers(reader) == list(range(1, 21))
            assert [len(reader.query("t", as_of=n)) for n in range(21)] == list(range(21))
        (facts,) = db._parts.storage.journal.contents.log_facts(table(db).id)
        assert (facts.first, facts.last, facts.rows, facts.growth, facts.loses) == (1, 20, 20, 20, False)
        put(db, 21)
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        assert [len(db.query("t", as_of=n)) for n in range(22)] == list(range(22))
        changes = db.changes("t", since=5, until=9, per_commit=True).rows()
        assert [(c.row["x"], c.time) for c in changes] == [(n, n) for n in range(6, 10)]
        assert db.time == 21


def test_rows_come_from_the_catalog_after_opening(path: Path) -> None:
    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as db:
        db.sql("CREATE TABLE t (x INT, s STRING)")
        put(db, 1, 2, 3)
        with db.transaction() as tx:
            tx.delete("t", [(2, "2")])
    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as db:
        db._parts.folding.policy = FoldPolicy(2, 0.0)
        assert numbers(db) == [1, 3]
        db._parts.folding._settle()
        assert (table(db).base_size, table(db).history.since_base()) == (2, 0)


def test_in_memory_folds_are_at_once() -> None:
    with tidings.open(engine="duckdb", clock=ManualClock(1)) as db:
        db._parts.folding.policy = FoldPolicy(2, 0.0)
        db.sql("CREATE TABLE t (x INT, s STRING)")
        put(db, 1, 2, 3)
        put(db, 4)
        assert (table(db).base_size, table(db).history.since_base()) == (3, 1)
        db._parts.folding.policy = FoldPolicy(2, 0.0, in_memory=2)
        put(db, 5, 6, 7)
        assert table(db).history.since_base() == 4
        assert db.fold() == 1
        assert (table(db).base_size, numbers(db)) == (7, [1, 2, 3, 4, 5, 6, 7])
        assert sorted(r["x"] for r in db.query("t", as_of=1).rows()) == [1, 2, 3]


def test_what_views_have_still_to_read_is_not_forgotten(path: Path) -> None:
    clock = ManualClock(10)
    with tidings.open(path, engine="duckdb", clock=clock, retention=timedelta(0)) as db:
        db.sql("CREATE TABLE t (x INT, s STRING); CREATE MATERIALIZED VIEW v AS SELECT x FROM t")
        for time in (20, 30, 40):
            clock.set(time)
            put(db, time)
        db.fold()
        assert table(db).forgotten == 0
        db.advance()
        put(db, 50)
        db.fold()
        assert table(db).forgotten == 40
        assert [c.row["x"] for c in db.changes("v", since=40).rows()] == [50]


def test_a_failed_view_does_not_hold_history_up(path: Path) -> None:
    clock = ManualClock(10)
    with tidings.open(path, engine="duckdb", clock=clock, retention=timedelta(0)) as db:
        db.sql("CREATE TABLE t (x INT, s STRING); CREATE MATERIALIZED VIEW v AS SELECT CAST(s AS INT) AS n FROM t")
        with db.transaction() as tx:
            tx.insert("t", [(1, "one")])
        db.advance()
        assert db.status().view("v").failed
        clock.set(20)
        put(db, 2)
        db.fold()
        assert table(db).forgotten == 20
        db.sql("DELETE FROM t WHERE s = 'one'")
    with tidings.open(path, engine="duckdb", clock=clock, retention=timedelta(0)) as db:
        db.advance()
        assert not db.status().view("v").failed
        assert db.query("v").rows() == [{"n": 2}]


def test_sorted_by_lasts(path: Path) -> None:
    import pyarrow as pa

    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as db:
        db.sql("CREATE TABLE t (x INT, s STRING)")
        rows = pa.table({"x": pa.array([1, 2, 3], pa.int32()), "s": ["c", "a", "b"]})
        db.load("t", rows, sorted_by="s")
        put(db, 0)
    with tidings.open(path, engine="duckdb", clock=ManualClock(1)) as db:
        db.fold()
        (file,) = db._parts.storage.snapshots.files[table(db).id].record.files
        assert (file.low, file.high) == ("0", "c")


def test_a_sibling_reads_the_same_files(db: Database) -> None:
    put(db, 1, 2, 3)
    db._parts.folding._settle()
    sibling: Backend = db._parts.backend.sibling()
    db._parts.storage.snapshots.files[table(db).id].load_into(sibling, "copy")
    sibling.close()

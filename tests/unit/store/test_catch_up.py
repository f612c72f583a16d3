"""Readers beside a writer: they see what it has committed, whole, and change nothing; a stale writer is kept out."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy.engine.base import RootTransaction
from sqlalchemy.exc import OperationalError

import tidings
from tidings import Database, ManualClock, errors
from tidings.engine.location import Location
from tidings.store.catalog import session
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.open import open_folder

PER_K = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def writer(path: Path, clock: ManualClock) -> Iterator[Database]:
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql(f"CREATE TABLE t (k INT, x INT); CREATE MATERIALIZED VIEW v AS {PER_K}")
        yield db


@pytest.fixture
def reader(writer: Database, path: Path, clock: ManualClock) -> Iterator[Database]:
    with tidings.open(path, engine="duckdb", clock=clock, read_only=True) as db:
        yield db


def rows(db: Database, text: str, as_of: int | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(text, as_of).rows()), key=str)


WRITES: list[Callable[[Database], object]] = [
    lambda db: db.sql("INSERT INTO t VALUES (1, 1)"),
    lambda db: db.sql("DELETE FROM t"),
    lambda db: db.sql("UPDATE t SET x = 1"),
    lambda db: db.sql("CREATE TABLE w (a INT)"),
    lambda db: db.sql("CREATE VIEW w AS SELECT k FROM t"),
    lambda db: db.sql("CREATE MATERIALIZED VIEW w AS SELECT k FROM t"),
    lambda db: db.sql("CREATE OR REPLACE VIEW v AS SELECT k FROM t"),
    lambda db: db.sql("ALTER TABLE t ADD COLUMN z INT"),
    lambda db: db.sql("DROP VIEW v"),
    lambda db: db.sql("DROP TABLE t CASCADE"),
    lambda db: db.sql("REFRESH MATERIALIZED VIEW v"),
    lambda db: db.sql("VACUUM"),
    lambda db: db.vacuum(),
    lambda db: db.fold(),
    lambda db: db.load("t", pa.table({"k": pa.array([1], pa.int32()), "x": pa.array([1], pa.int32())})),
    lambda db: db.subscribe("t", name="n"),
    lambda db: db.unsubscribe("n"),
]


@pytest.mark.parametrize("number", range(len(WRITES)))
def test_a_reader_changes_nothing(writer: Database, reader: Database, number: int) -> None:
    writer.sql("INSERT INTO t VALUES (1, 2)")
    with pytest.raises(errors.ReadOnly):
        WRITES[number](reader)
    assert rows(reader, "v") == rows(writer, "v") == [(1, 1, 2)]
    assert reader.time == 1


def test_a_transaction_of_a_reader(reader: Database) -> None:
    with pytest.raises(errors.ReadOnly), reader.transaction() as tx:
        tx.insert("t", [(1, 1)])
    assert rows(reader, "t") == []


def test_a_reader_sees_what_was_committed_since(writer: Database, reader: Database) -> None:
    for n in range(3):
        writer.sql(f"INSERT INTO t VALUES ({n}, 1)")
        assert rows(reader, "t") == rows(writer, "t")
        assert rows(reader, "v") == rows(writer, "v")
        assert reader.time == writer.time
    assert rows(reader, "v", as_of=1) == [(0, 1, 1)]


def test_definitions_made_since(writer: Database, reader: Database) -> None:
    writer.sql("CREATE TABLE u (k INT); INSERT INTO u VALUES (5); CREATE VIEW w AS SELECT k FROM u")
    assert rows(reader, "w") == [(5,)]
    writer.sql("CREATE OR REPLACE VIEW w AS SELECT k + 1 AS k FROM u")
    assert rows(reader, "w") == [(6,)]
    writer.sql("DROP VIEW w")
    with pytest.raises(errors.TidingsError):
        reader.query("w")


def test_a_table_made_anew_under_the_same_number(path: Path, clock: ManualClock) -> None:
    with tidings.open(path, engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1)")
    with tidings.open(path, engine="duckdb", clock=clock, read_only=True) as reader:
        assert rows(reader, "t") == [(1,)]
        with tidings.open(path, engine="duckdb", clock=clock) as db:
            db.sql("DROP TABLE t")
        with tidings.open(path, engine="duckdb", clock=clock) as db:
            db.sql("CREATE TABLE t (k INT)")
        assert rows(reader, "t") == []


def test_a_reader_brings_views_up_to_date_for_itself(writer: Database, reader: Database) -> None:
    writer.sql("INSERT INTO t VALUES (1, 1)")
    assert rows(reader, "v") == [(1, 1, 1)]
    reader.advance()
    assert writer.status().view("v").position == 0
    writer.sql("INSERT INTO t VALUES (1, 2)")
    writer.advance()
    assert rows(reader, "v") == [(1, 2, 3)]
    assert len(reader.changes("v", 0, per_commit=True)) == 3


def test_a_reader_survives_folds(writer: Database, reader: Database) -> None:
    writer.sql("INSERT INTO t VALUES (1, 1)")
    assert rows(reader, "t") == [(1, 1)]
    reader.reload = lambda: reader.time  # type: ignore[method-assign]
    writer.sql("INSERT INTO t VALUES (2, 1)")
    writer.fold()
    writer.vacuum()
    assert (rows(reader, "t"), rows(reader, "v")) == ([(1, 1)], [(1, 1, 1)])
    del reader.reload
    assert rows(reader, "t") == [(1, 1), (2, 1)]
    writer.sql("DELETE FROM t WHERE k = 1")
    assert rows(reader, "v") == [(2, 1, 1)]


def test_a_reader_that_is_behind_asks_again(path: Path, clock: ManualClock) -> None:
    retention = timedelta(seconds=1)
    with tidings.open(path, engine="duckdb", clock=clock, retention=retention) as writer:
        writer.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1)")
        with tidings.open(path, engine="duckdb", clock=clock, read_only=True) as reader:
            clock.set(60_000_000)
            writer.sql("INSERT INTO t VALUES (2)")
            clock.set(90_000_000)
            looked = reader.reload
            times = iter([lambda: reader.time, looked])
            reader.reload = lambda: next(times)()  # type: ignore[method-assign]
            writer.fold()
            assert rows(reader, "t") == [(1,), (2,)]


def test_what_reads_the_clock(writer: Database, reader: Database, clock: ManualClock) -> None:
    writer.sql("CREATE TABLE due (k INT, ts TIMESTAMP)")
    writer.sql("CREATE MATERIALIZED VIEW overdue AS SELECT k FROM due WHERE ts <= now()")
    clock.set(20_000_000)
    assert rows(reader, "overdue") == []
    clock.set(19_000_000)
    writer.sql("INSERT INTO due VALUES (1, TIMESTAMP '1970-01-01 00:00:10')")
    clock.set(20_000_000)
    assert rows(reader, "overdue") == [(1,)]


def test_a_reader_may_subscribe(writer: Database, reader: Database) -> None:
    subscription = reader.subscribe("v")
    assert next(subscription).snapshot
    for n in range(3):
        writer.sql(f"INSERT INTO t VALUES (1, {n})")
    assert [b.time for b in subscription] == [1, 2, 3]
    follower = reader.subscribe("v", since=3, follow=True, timeout=20)
    writer.sql("INSERT INTO t VALUES (2, 2)")
    assert next(follower).time == 4


def test_time_passes_for_a_reader_as_the_writer_records_it(
    writer: Database, reader: Database, clock: ManualClock
) -> None:
    writer.sql("CREATE TABLE due (k INT, ts TIMESTAMP)")
    writer.sql("CREATE MATERIALIZED VIEW overdue AS SELECT k FROM due WHERE ts <= now()")
    writer.sql("INSERT INTO due VALUES (1, TIMESTAMP '1970-01-01 00:00:10')")
    subscription = reader.subscribe("overdue")
    assert next(subscription).snapshot
    clock.set(20_000_000)
    assert list(subscription) == []
    clock.set(15_000_000)
    writer.sql("INSERT INTO due VALUES (2, TIMESTAMP '1970-01-01 00:00:12')")
    assert [b.time for b in subscription] == [10_000_000, 15_000_000]
    writer.sql("INSERT INTO due VALUES (3, TIMESTAMP '1970-01-01 00:00:18')")
    clock.set(20_000_000)
    writer.advance()
    assert [b.time for b in subscription] == [18_000_000]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_writer_does(path: Path, seed: int) -> None:
    rng, clock = random.Random(seed), ManualClock(0)
    with tidings.open(path, engine="duckdb", clock=clock) as writer:
        writer.sql(f"CREATE TABLE t (k INT, x INT); CREATE MATERIALIZED VIEW v AS {PER_K}")
        with tidings.open(path, engine="duckdb", clock=clock, read_only=True) as reader:
            for step in range(30):
                act = rng.choice(["insert", "insert", "insert", "delete", "fold", "advance", "define", "replace"])
                if act == "insert":
                    writer.sql(f"INSERT INTO t VALUES ({rng.randint(1, 3)}, {step})")
                elif act == "delete":
                    writer.sql(f"DELETE FROM t WHERE k = {rng.randint(1, 3)}")
                elif act == "fold":
                    writer.fold()
                elif act == "advance":
                    writer.advance()
                elif act == "define":
                    writer.sql("CREATE TABLE IF NOT EXISTS u (k INT); DROP TABLE u")
                else:
                    writer.sql(
                        f"CREATE OR REPLACE MATERIALIZED VIEW v AS {PER_K} HAVING count(*) > {rng.randint(0, 1)}"
                    )
                if rng.random() < 0.6:
                    for text in ("t", "v"):
                        assert rows(reader, text) == rows(writer, text), (seed, step, act)


# answers that are lost


@pytest.mark.parametrize("recorded", [True, False])
def test_an_answer_of_the_catalog_that_is_lost(
    writer: Database, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    commit = RootTransaction.commit

    def lost(self: RootTransaction) -> None:
        commit(self) if recorded else self.rollback()
        raise OperationalError("COMMIT", {}, OSError("the connection is gone"))

    with monkeypatch.context() as patched:
        patched.setattr(RootTransaction, "commit", lost)
        if recorded:
            writer.sql("INSERT INTO t VALUES (1, 1)")
        else:
            with pytest.raises(errors.CatalogFailed):
                writer.sql("INSERT INTO t VALUES (1, 1)")
    writer.sql("INSERT INTO t VALUES (2, 2)")
    assert rows(writer, "t") == ([(1, 1)] if recorded else []) + [(2, 2)]


def test_nothing_is_written_while_it_is_not_known_what_was(
    writer: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(self: RootTransaction) -> None:
        raise OperationalError("COMMIT", {}, OSError("the connection is gone"))

    def gone(connection: object, key: str) -> int:
        raise OperationalError("SELECT", {}, OSError("the server is gone"))

    with monkeypatch.context() as patched:
        patched.setattr(RootTransaction, "commit", lost)
        patched.setattr(session, "_fact", gone)
        with pytest.raises(errors.CatalogFailed):
            writer.sql("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(errors.CatalogFailed):
        writer.sql("INSERT INTO t VALUES (2, 2)")
    assert rows(writer, "t") == []


# one writer


def test_a_second_writer_is_refused_and_a_reader_is_not(writer: Database, path: Path) -> None:
    with pytest.raises(errors.DatabaseLocked):
        tidings.open(path, engine="duckdb")
    code = f"import tidings; print(len(tidings.open({str(path)!r}, engine='duckdb', read_only=True).query('t')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"


def test_a_stale_writer_cannot_commit(writer: Database, path: Path, clock: ManualClock) -> None:
    writer.sql("INSERT INTO t VALUES (1, 1)")
    journal = writer._parts.storage.journal
    assert isinstance(journal, CatalogJournal)
    assert journal.lock is not None
    journal.lock.release()
    with tidings.open(path, engine="duckdb", clock=clock) as second:
        second.sql("INSERT INTO t VALUES (2, 2)")
        for act in (
            lambda: writer.sql("INSERT INTO t VALUES (3, 3)"),
            writer.advance,
            writer.fold,
            lambda: writer.sql("CREATE TABLE w (a INT)"),
            lambda: writer.sql("DROP VIEW v"),
            lambda: writer.subscribe("t", name="n"),
        ):
            with pytest.raises(errors.StaleWriter):
                act()
        assert (writer.time, writer.status().view("v").position) == (1, 0)
        assert rows(second, "t") == [(1, 1), (2, 2)]
        assert open_folder(second._parts.backend, Location.local(path), None, read_only=True).is_reader


def test_a_reader_follows_columns_that_are_dropped(writer: Database, reader: Database) -> None:
    writer.sql("ALTER TABLE t ADD COLUMN y INT DEFAULT 5; INSERT INTO t VALUES (1, 2, 3)")
    assert rows(reader, "t") == [(1, 2, 3)]
    writer.sql("ALTER TABLE t DROP COLUMN y; INSERT INTO t VALUES (2, 3)")
    assert rows(reader, "t") == [(1, 2), (2, 3)]
    writer.sql("ALTER TABLE t ADD COLUMN y INT DEFAULT 6")
    writer.fold()
    assert rows(reader, "t") == [(1, 2, 6), (2, 3, 6)]


def test_what_was_written_after_a_column_was_dropped_asks_a_reader_to_catch_up(
    writer: Database, reader: Database
) -> None:
    table = reader._parts.relations.table("t")
    assert table.dropped_since(0) == ()
    with pytest.raises(errors.ReaderBehind):
        table.dropped_since(1)

"""A database in a folder: what is there when it is opened again, and what is said when it cannot be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock, errors
from tidings.store.catalog import schema
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.fold import FoldPolicy

HOUR = 3_600_000_000


def opened(path: Path, clock: ManualClock | None = None, **options: object) -> Database:
    options.setdefault("engine", "duckdb")
    return tidings.open(path, clock=clock or ManualClock(1), **options)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.tidings"


def numbers(db: Database, text: str = "t", as_of: int | None = None) -> list[int]:
    return sorted(r["x"] for r in db.query(text, as_of).rows())


def put(db: Database, *values: int) -> int:
    with db.transaction() as tx:
        tx.insert("t", [(v,) for v in values])
    assert tx.time is not None
    return tx.time


def many(db: Database, count: int) -> None:
    """Enough rows for a log file."""
    with db.transaction() as tx:
        tx.insert("t", [(n,) for n in range(count)])


@pytest.fixture
def made(path: Path) -> Path:
    """A table with rows in its snapshot and in its log, and a stored view."""
    with opened(path) as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW big AS SELECT x FROM t WHERE x > 1")
        put(db, 1, 2)
        db.advance()
        db.fold()
        put(db, 3)
    return path


def test_everything_is_there_again(made: Path) -> None:
    with opened(made) as db:
        assert (numbers(db), numbers(db, "big")) == ([1, 2, 3], [2, 3])
        assert [(c.row["x"], c.weight) for c in db.changes("big", since=1).rows()] == [(3, 1)]


def test_a_reader_beside_the_writer(made: Path) -> None:
    with opened(made) as writer, opened(made, read_only=True) as reader:
        put(writer, 4)
        assert numbers(writer) == [1, 2, 3, 4]
        assert numbers(reader, as_of=1) == [1, 2]
        with pytest.raises(errors.ReadOnly):
            reader.vacuum()


def test_files_are_below_the_folder_and_nowhere_else(path: Path) -> None:
    with opened(path) as db:
        db.sql("CREATE TABLE t (x INT)")
        many(db, 10_000)
        db.fold()
        assert {p.name for p in path.iterdir()} >= {"catalog.sqlite", "lock", "log", "base"}
        assert db._parts.storage.journal.contents.files() == {
            p.relative_to(path).as_posix() for d in ("log", "base") for p in (path / d).rglob("*.parquet")
        }


# what goes wrong


def test_a_second_writer(made: Path) -> None:
    with opened(made), pytest.raises(errors.DatabaseLocked) as refused:
        opened(made)
    assert refused.value.parameters["path"] == str(made)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(errors.DatabaseMissing):
        opened(tmp_path / "nosuch", read_only=True)
    with pytest.raises(errors.DatabaseMissing):
        opened(tmp_path, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_catalog_of_a_later_version(made: Path) -> None:
    with sqlite3.connect(made / "catalog.sqlite") as catalog:
        catalog.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    catalog.close()
    for read_only in (False, True):
        with pytest.raises(errors.CatalogTooNew) as refused:
            opened(made, read_only=read_only)
        assert refused.value.parameters == {"found": 99, "known": schema.VERSION}


def test_a_catalog_that_is_none(path: Path) -> None:
    path.mkdir()
    (path / "catalog.sqlite").write_text("this is no catalog at all, and long enough to be seen as such" * 20)
    with pytest.raises(errors.CatalogFailed):
        opened(path)
    with pytest.raises(errors.CatalogFailed):
        opened(path)


def test_a_writer_that_is_no_longer_the_writer(made: Path) -> None:
    with opened(made) as stale:
        journal = stale._parts.storage.journal
        assert isinstance(journal, CatalogJournal)
        assert journal.lock is not None
        journal.lock.release()
        with opened(made) as present:
            with pytest.raises(errors.StaleWriter):
                put(stale, 9)
            assert numbers(stale) == [1, 2, 3]
            put(present, 5)
        with pytest.raises(errors.StaleWriter):
            stale.fold()
    with opened(made) as db:
        assert numbers(db) == [1, 2, 3, 5]


def test_history_that_is_gone(path: Path) -> None:
    clock = ManualClock(HOUR)
    with opened(path, clock, retention=timedelta(hours=10)) as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW total AS SELECT sum(x) AS x FROM t")
        times = []
        for hour in range(1, 21):
            clock.set(hour * HOUR)
            times.append(put(db, hour))
            db.advance()
        db.fold()
    for _ in range(2):
        with opened(path, clock) as db:
            for number, time in enumerate(times, 1):
                if number < 10:
                    with pytest.raises(errors.HistoryGone) as refused:
                        db.query("t", as_of=time)
                    assert refused.value.parameters == {"table": "t", "at": time, "since": times[9]}
                    with pytest.raises(errors.HistoryGone):
                        db.changes("t", since=time)
                    with pytest.raises(errors.HistoryGone):
                        db.query("total", as_of=time)
                else:
                    assert numbers(db, as_of=time) == list(range(1, number + 1))
                    assert numbers(db, "total", as_of=time) == [sum(range(1, number + 1))]
                    assert len(db.changes("t", since=time)) == 20 - number
            with pytest.raises(errors.HistoryGone):
                db.changes("t")


def only_file(path: Path, folder: str) -> Path:
    (found,) = (path / folder).rglob("*.parquet")
    return found


def remove(file: Path) -> None:
    file.unlink()


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def scramble(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 64] = bytes(64)
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", [remove, cut_off, scramble])
def test_a_damaged_log_file_is_named(path: Path, harm: Callable[[Path], None]) -> None:
    with opened(path) as db:
        db._parts.folding.policy = FoldPolicy(rows=100_000)  # a fold that is done by the time of closing reads no log
        db.sql("CREATE TABLE t (x INT); CREATE TABLE u (x INT); INSERT INTO u VALUES (1)")
        many(db, 30_000)
    file = only_file(path, "log")
    harm(file)
    with opened(path) as db:
        with pytest.raises(errors.DamagedFile) as refused:
            db.query("t")
        assert refused.value.parameters["path"] == str(file)
        assert numbers(db, "u") == [1]


@pytest.mark.parametrize("harm", [remove, cut_off])
def test_a_damaged_snapshot_file_is_named(path: Path, harm: Callable[[Path], None]) -> None:
    with opened(path) as db:
        db.sql("CREATE TABLE t (x INT); CREATE TABLE u (x INT); INSERT INTO u VALUES (1); INSERT INTO t VALUES (1)")
        db._parts.storage.snapshots.fold(db._parts.relations.table("t"), merge=False)
    file = only_file(path, "base")
    harm(file)
    with opened(path) as db:
        with pytest.raises(errors.DamagedFile) as refused:
            db.query("t")
        assert refused.value.parameters["path"] == str(file)
        with pytest.raises(errors.DamagedFile):
            put(db, 5)
        assert numbers(db, "u") == [1]
        assert {s.name: bool(s.error) for s in db.status().tables} == {"t": True, "u": False}


def test_older_catalogs_become_newer_ones(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(made):
        pass
    seen = []
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, lambda connection: seen.append(connection))
    with pytest.raises(errors.CatalogFailed):
        opened(made, read_only=True)
    for _ in range(2):
        with opened(made) as db:
            assert numbers(db) == [1, 2, 3]
    assert len(seen) == 1


def test_loaded_rows_are_there_again(path: Path) -> None:
    with opened(path) as db:
        db.sql("CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW big AS SELECT x FROM t WHERE x > 1")
        db.load("t", pa.table({"x": pa.array([3, 1, 2], pa.int32())}))
    with opened(path) as db:
        assert (numbers(db), numbers(db, "big")) == ([1, 2, 3], [2, 3])

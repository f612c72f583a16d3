"""Vacuum removes what nobody names, after a while, and nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import NotWritable, UnsupportedStatement
from tidings.store.files import log_file, snapshot_folder
from tidings.store.vacuum import Vacuumed, vacuum

NOW = timedelta(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.tidings"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with tidings.open(path, engine="duckdb", clock=ManualClock(1), retention=timedelta(0)) as database:
        database.sql("CREATE TABLE t (x INT)")
        yield database


def put(db: Database, count: int) -> None:
    with db.transaction() as tx:
        tx.insert("t", [(n,) for n in range(count)])


def files(path: Path) -> set[str]:
    return {p.relative_to(path).as_posix() for d in ("log", "base") for p in (path / d).rglob("*") if p.is_file()}


def named(db: Database) -> set[str]:
    return db._parts.storage.journal.contents.files()


def test_replaced_snapshots_and_forgotten_logs(db: Database, path: Path) -> None:
    put(db, 20_000)
    db.fold()
    put(db, 1)
    db.fold()
    litter = files(path) - named(db)
    assert len(litter) == 2
    assert db.vacuum() == Vacuumed((), 0, 2)
    assert files(path) >= litter
    size = sum((path / f).stat().st_size for f in litter)
    assert db.vacuum(NOW) == Vacuumed(tuple(sorted(litter)), size, 0)
    assert files(path) == named(db)
    assert db.vacuum(NOW) == Vacuumed()
    assert len(db.query("t")) == 20_001


def test_since_when_a_file_is_not_named_counts_and_not_when_it_was_written(db: Database, path: Path) -> None:
    put(db, 1)
    db.fold()
    (old,) = named(db)
    os.utime(path / old, (0, 0))
    put(db, 1)
    db.fold()
    assert db.vacuum().waiting == 1
    assert (path / old).exists()


def test_a_dropped_table(db: Database, path: Path) -> None:
    put(db, 20_000)
    db.fold()
    db.sql("DROP TABLE t")
    assert len(db.vacuum(NOW).files) == 2
    assert files(path) == set()


def test_what_a_crash_left(db: Database, path: Path) -> None:
    put(db, 20_000)
    branch = db._parts.storage.journal.contents.branch
    log, base = log_file(1, 7, branch), f"{snapshot_folder(1, branch)}"
    left = [path / log, path / base / "_temporary" / "part"]
    for file in left:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("half a file")
    assert db.vacuum().waiting == 2
    hours_ago = time.time() - 7200
    os.utime(left[0], (hours_ago, hours_ago))
    assert db.vacuum().files == (log,)
    assert len(db.vacuum(NOW).files) == 1
    assert files(path) == named(db)
    assert not (path / base).exists()


def test_files_of_others_stay(db: Database, path: Path) -> None:
    put(db, 20_000)
    db.fold()
    snapshot = next(name for name in named(db) if name.startswith("base/")).rpartition("/")[0]
    of_another = [log_file(1, 7, "0123456789ab"), f"{snapshot_folder(1, '0123456789ab')}/part-00000.parquet"]
    others = ["log/1/notes.txt", "log/7.parquet", f"{snapshot}/notes.txt", "base/part-00000.parquet", *of_another]
    for name in ["notes.txt", *others]:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("mine")
        os.utime(path / name, (0, 0))
    db.sql("DELETE FROM t")
    db.fold()
    vacuumed = db.vacuum(NOW)
    assert vacuumed.unknown == len(others)
    assert len(vacuumed.files) == 2
    assert not {*others} & {*vacuumed.files}
    assert files(path) - named(db) == {*others}
    assert (path / "notes.txt").exists()
    assert (path / "catalog.sqlite").exists()


def test_what_a_fold_has_written_but_not_named_stays(db: Database, path: Path) -> None:
    put(db, 20_000)
    db.fold()
    storage, relation = db._parts.storage, db._parts.storage.relations.rows("t").id
    (branch,) = storage.journal.contents.branches()
    written = {log_file(relation, 7, branch), f"{snapshot_folder(relation, branch)}/part-00000.parquet"}
    for name in written:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("being written")
    assert not written & {*vacuum(storage, NOW, folding=frozenset({relation})).files}
    assert written <= {*vacuum(storage, NOW).files}


def test_a_folder_that_cannot_be_read_is_refused_by_name(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: object, *, recursive: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tidings.store.vacuum.entries", refuse)
    with pytest.raises(NotWritable):
        db.vacuum(NOW)


def test_a_reader_of_the_last_hour_reads_on(db: Database, path: Path) -> None:
    put(db, 3)
    db.fold()
    with tidings.open(path, engine="duckdb", read_only=True) as reader:
        put(db, 1)
        db.fold()
        db.vacuum()
        assert len(reader.query("t", as_of=1)) == 3


def test_in_sql(db: Database, path: Path) -> None:
    put(db, 1)
    db.fold()
    put(db, 1)
    db.fold()
    result = db.sql("VACUUM")
    assert result is not None
    assert result.rows() == [{"files": 0, "bytes": 0, "waiting": 1, "unknown": 0}]
    with pytest.raises(UnsupportedStatement):
        db.sql("VACUUM t")


def test_in_memory_there_is_nothing_to_do() -> None:
    with tidings.open(engine="duckdb") as db:
        assert db.vacuum(NOW) == Vacuumed()

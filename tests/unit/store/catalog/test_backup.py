"""Backups of a database at work, and databases made of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest

import tidings
from tests.postgresql import schema, server
from tidings import Database, ManualClock
from tidings.errors import BackupRefused, CatalogLost, DamagedFile, MustRefetch, NotABackup
from tidings.store import files

SCHEMA = """
    CREATE TABLE stock (item INT PRIMARY KEY, qty INT, note STRING);
    CREATE MATERIALIZED VIEW low AS SELECT item, qty FROM stock WHERE qty < 5;
    CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(qty) AS s FROM stock;
    CREATE RULE told WHEN SELECT item FROM stock WHERE qty < 5 DO NOTIFY 'buyers';
"""


def opened(path: Path, catalog: str | None = None) -> Database:
    return tidings.open(path, engine="duckdb", catalog=catalog, clock=ManualClock(1_000))


def filled(db: Database) -> None:
    """Rows in a base, in a file of the log and in the catalog; a message waits."""
    db.sql(SCHEMA)
    db.load("stock", pa.table({"item": range(3_000), "qty": [9] * 3_000, "note": ["x"] * 3_000}))
    with db.transaction() as tx:
        tx.insert("stock", [(n, 9, "y" * 50) for n in range(10_000, 13_000)])
    db.sql("UPDATE stock SET qty = 1 WHERE item IN (3, 4)")
    db.advance()


def state(db: Database) -> list[object]:
    names = ("stock", "low", "totals")
    rows = [sorted(map(repr, db.query(name).rows())) for name in names]
    return [*rows, [e.message.id for e in db.deliveries.entries()], db.time]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def catalogs(request: pytest.FixtureRequest) -> Iterator[list[str | None]]:
    """Two catalogs: those of the folders, or new ones in PostgreSQL."""
    if request.param == "sqlite":
        yield [None, None]
    else:
        url = request.getfixturevalue("postgresql")
        yield [schema(url, "before"), schema(url, "after")]


def test_a_copy_is_the_database_as_it_was(tmp_path: Path, catalogs: list[str | None]) -> None:
    with opened(tmp_path / "db", catalogs[0]) as db:
        filled(db)
        before = state(db)
        made = db.backup(tmp_path / "copy")
        assert (made.time, made.path) == (db.time, str(tmp_path / "copy"))
        db.sql("DELETE FROM stock WHERE item < 100")
        db.fold()
        db.vacuum(timedelta(0))
    restored = catalogs[1]
    assert tidings.restore(tmp_path / "copy", tmp_path / "back", catalog=restored).files == made.files > 1
    with opened(tmp_path / "back", restored) as back:
        assert state(back) == before
        assert back.check() == []
        back.sql("INSERT INTO stock VALUES (20000, 0, 'new')")
        back.advance()
        numbers = [entry.number for entry in back.deliveries.entries()]
        assert len(set(numbers)) == len(numbers) == len(before[3]) + 1  # type: ignore[arg-type]
        assert {"item": 20000, "qty": 0} in back.query("low").rows()
        assert back.check() == []


def test_a_backup_is_itself_private_and_is_not_changed_by_a_restore(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        filled(db)
        db.backup(tmp_path / "copy")
    before = {file: file.read_bytes() for file in (tmp_path / "copy").rglob("*") if file.is_file()}
    tidings.restore(tmp_path / "copy", tmp_path / "back")
    assert {file: file.read_bytes() for file in (tmp_path / "copy").rglob("*") if file.is_file()} == before
    modes = {p.stat().st_mode & 0o077 for p in [tmp_path / "back", *(tmp_path / "copy").rglob("*.parquet")]}
    assert modes == {0}


def test_files_that_are_being_copied_outlive_folds_and_vacuums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits, folds and vacuums come in between the copies of any two files."""
    with opened(tmp_path / "db") as db:
        filled(db)
        before, copied = state(db), files.sync

        def slowly(file: object) -> None:
            copied(file)  # type: ignore[arg-type]
            db.sql("UPDATE stock SET qty = qty + 1 WHERE item = 3")
            db.fold()
            db.vacuum(timedelta(0))

        monkeypatch.setattr("tidings.store.catalog.backup.sync", slowly)
        db.backup(tmp_path / "copy")
        monkeypatch.undo()
        assert db.vacuum(timedelta(0)).files
        assert db.check() == []
    tidings.restore(tmp_path / "copy", tmp_path / "back")
    with opened(tmp_path / "back") as back:
        assert state(back) == before


def test_writers_and_readers_go_on(tmp_path: Path) -> None:
    """What a backup has is what was committed up to one commit, whole."""
    with opened(tmp_path / "db") as db:
        db.sql("CREATE TABLE t (a INT, b INT); CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
        ended = Event()

        def write() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                with db.transaction() as tx:
                    tx.insert("t", [(number, 0), (number, 1)])
                if number % 10 == 0:
                    db.fold()

        thread = Thread(target=write)
        thread.start()
        try:
            made = [db.backup(tmp_path / f"copy{n}") for n in range(3)]
        finally:
            ended.set()
            thread.join()
        for n, each in enumerate(made):
            tidings.restore(tmp_path / f"copy{n}", tmp_path / f"back{n}")
            with opened(tmp_path / f"back{n}") as back:
                assert back.time == each.time
                rows = back.query("SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a").rows()
                assert rows == [{"a": a + 1, "n": 2} for a in range(len(rows))]
                assert back.query("n").rows() == [{"n": 2 * len(rows)}]
                assert back.query("t", as_of=each.time).to_arrow().num_rows == 2 * len(rows)


def test_positions_of_the_lost_stretch_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        filled(db)
        (early,) = list(db.subscribe("low"))
        db.sql("CREATE TABLE other (a INT)")
        db.backup(tmp_path / "copy")
        db.sql("UPDATE stock SET qty = 2 WHERE item = 7")
        (lost,) = list(db.subscribe("low", early.time.token))
    tidings.restore(tmp_path / "copy", tmp_path / "back")
    with opened(tmp_path / "back") as back:
        back.sql("UPDATE stock SET qty = 0 WHERE item = 8")
        (batch,) = list(back.subscribe("low", early.time.token))
        assert [change.row["item"] for change in batch.changes] == [8]
        with pytest.raises(MustRefetch):
            list(back.subscribe("low", lost.time.token))


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with tidings.open(engine="duckdb") as db, pytest.raises(BackupRefused):
        db.backup(tmp_path / "copy")
    with opened(tmp_path / "db") as db:
        for target in (tmp_path / "full", tmp_path / "db", tmp_path / "full" / "mine", "s3://bucket/copy"):
            with pytest.raises(BackupRefused):
                db.backup(target)
        db.backup(tmp_path / "copy")
        with pytest.raises(BackupRefused):
            db.backup(tmp_path / "copy")
    with pytest.raises(BackupRefused):
        tidings.restore(tmp_path / "copy", tmp_path / "full")
    with pytest.raises(NotABackup):
        tidings.restore(tmp_path / "full", tmp_path / "back")
    assert sorted(p.name for p in (tmp_path / "full").iterdir()) == ["mine"]


def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        filled(db)
        db.fold()
        db.backup(tmp_path / "copy")
    file = next((tmp_path / "copy" / "base").rglob("*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedFile):
        tidings.restore(tmp_path / "copy", tmp_path / "back")
    assert not (tmp_path / "back").exists()
    file.unlink()
    with pytest.raises(DamagedFile):
        tidings.restore(tmp_path / "copy", tmp_path / "back")


BACKUP = """
import sys, tidings
from tidings.store.fault_points import arm
with tidings.open(sys.argv[1], engine="duckdb", clock=tidings.ManualClock(1_000)) as db:
    arm(sys.argv[3])
    db.backup(sys.argv[2])
"""
RESTORE = """
import sys, tidings
from tidings.store.fault_points import arm
arm(sys.argv[3])
tidings.restore(sys.argv[1], sys.argv[2])
"""


def killed(script: str, source: Path, target: Path, at: str) -> None:
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    ended = subprocess.run([sys.executable, "-c", script, source, target, at], check=False, env=environment)
    assert ended.returncode == -signal.SIGKILL, at


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "at", ["backup.copied", *(pytest.param(f"backup.{p}", marks=SLOW) for p in ("catalog", "copied:2"))]
)
def test_a_kill_leaves_the_database_and_no_half_of_a_backup(tmp_path: Path, at: str) -> None:
    with opened(tmp_path / "db") as db:
        filled(db)
        before = state(db)
    killed(BACKUP, tmp_path / "db", tmp_path / "copy", at)
    with pytest.raises(NotABackup):
        tidings.restore(tmp_path / "copy", tmp_path / "back")
    with opened(tmp_path / "db") as db:
        assert state(db) == before
        assert db.check() == []
        db.backup(tmp_path / "again")


@pytest.mark.parametrize(
    "at", ["restore.copied", *(pytest.param(f"restore.{p}", marks=SLOW) for p in ("copied:2", "done"))]
)
def test_a_kill_leaves_no_half_of_a_database(tmp_path: Path, at: str) -> None:
    with opened(tmp_path / "db") as db:
        filled(db)
        before = state(db)
        db.backup(tmp_path / "copy")
    killed(RESTORE, tmp_path / "copy", tmp_path / "half", at)
    if at != "restore.done":
        with pytest.raises(CatalogLost):
            opened(tmp_path / "half")
        tidings.restore(tmp_path / "copy", tmp_path / "whole")
    with opened(tmp_path / ("half" if at == "restore.done" else "whole")) as restored:
        assert state(restored) == before

"""Damage is found, not read: files, catalogs and folders that are not what they were."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import CatalogBehind, CatalogLost, CatalogOfAnother, DamagedFile, InvalidInstant, MustRefetch
from tidings.read.position import Position


def opened(path: Path, *, read_only: bool = False) -> Database:
    return tidings.open(path, engine="duckdb", clock=ManualClock(0), read_only=read_only)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database with a snapshot of a table and one of a view, closed."""
    path = tmp_path / "shop"
    with opened(path) as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, amount DOUBLE)")
        numbers = [float(n * 7919 % 10007) for n in range(3000)]
        db.load("t", pa.table({"id": list(range(3000)), "amount": numbers}))
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id % 7 AS g, count(*) AS n FROM t GROUP BY id % 7")
    return path


def flipped(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(bytes(data))


READS: list[Callable[[Database], object]] = [
    lambda db: db.query("t").rows(),
    lambda db: db.query("SELECT count(*) AS n FROM t").rows(),
    lambda db: db.query("SELECT * FROM t WHERE id = 17").rows(),
    lambda db: db.sql("UPDATE t SET amount = 1 WHERE id = 17"),
    lambda db: db.sql("INSERT INTO t VALUES (17, 1)"),
]


@pytest.mark.parametrize("read", range(len(READS)))
@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_a_flipped_bit_is_found_by_whoever_reads_first(folder: Path, read: int, place: float) -> None:
    (file,) = (folder / "base" / "1").glob("*/*.parquet")
    flipped(file, int(file.stat().st_size * place))
    with opened(folder) as db:
        with pytest.raises(DamagedFile):
            READS[read](db)
        assert db.query("SELECT count(*) AS n FROM v").rows() == [{"n": 7}]


def test_damage_is_not_folded_into_another_snapshot(folder: Path) -> None:
    (file,) = (folder / "base" / "1").glob("*/*.parquet")
    flipped(file, file.stat().st_size // 2)
    with opened(folder) as db:
        db._parts.relations.table("t").append(5, pa.table({"id": [9999], "amount": [0.5]}), [1])
        with pytest.raises(DamagedFile):
            db.fold()
    assert list((folder / "base" / "1").glob("*/*.parquet")) == [file]


def test_a_check_finds_it(folder: Path) -> None:
    with opened(folder) as db:
        assert db.check() == []
        assert db.sql("VACUUM CHECK").rows() == []  # type: ignore[union-attr]
        for file in (folder / "base").glob("*/*/*.parquet"):
            flipped(file, file.stat().st_size // 2)
        found = {(f.what, f.name) for f in db.check()}
        assert {("files", "t"), ("files", "v")} <= found
    with opened(folder, read_only=True) as db:
        assert {"t", "v"} <= {row["name"] for row in db.sql("VACUUM CHECK").rows()}  # type: ignore[union-attr]


def test_a_check_compares_views_with_their_queries(folder: Path) -> None:
    with opened(folder) as db:
        view = db._parts.relations.find("v")
        assert view is not None
        at = view.until + 1  # type: ignore[union-attr]
        view.rows.append(at, pa.table({"g": pa.array([99], pa.int64()), "n": pa.array([1], pa.int64())}), [1])  # type: ignore[union-attr]
        object.__setattr__(view, "cursor", view.cursor.__class__(view.since, at, None))  # type: ignore[union-attr]
        assert [(f.what, f.name) for f in db.check()] == [("view", "v")]


def test_a_lost_catalog_is_not_replaced_by_an_empty_one(folder: Path) -> None:
    before = sorted((folder / "base").glob("*/*/*.parquet"))
    for name in ("catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(CatalogLost):
        opened(folder)
    (folder / "identity").unlink()
    (folder / "catalog.sqlite").unlink(missing_ok=True)
    with pytest.raises(CatalogLost):
        opened(folder)
    assert sorted((folder / "base").glob("*/*/*.parquet")) == before


def test_the_catalog_of_another_database_is_refused(folder: Path, tmp_path: Path) -> None:
    opened(tmp_path / "other").close()
    shutil.copy(tmp_path / "other" / "catalog.sqlite", folder / "catalog.sqlite")
    for read_only in (False, True):
        with pytest.raises(CatalogOfAnother):
            opened(folder, read_only=read_only)


def test_an_older_catalog_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "catalog.sqlite", tmp_path / "older.sqlite")
    with opened(folder) as db:
        db.sql("INSERT INTO t VALUES (-1, 0)")
    shutil.copy(tmp_path / "older.sqlite", folder / "catalog.sqlite")
    for read_only in (False, True):
        with pytest.raises(CatalogBehind):
            opened(folder, read_only=read_only)
    (folder / "identity").unlink()  # as the hint says
    with opened(folder) as db:
        assert len(db.query("t")) == 3000


WRITER = """
import os, signal, sys, tidings
db = tidings.open(sys.argv[1], engine="duckdb")
db.sql("CREATE TABLE t (a INT)")
for i in range(20): db.sql(f"INSERT INTO t VALUES ({i})")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_damaged_write_ahead_log_is_found(tmp_path: Path) -> None:
    path = tmp_path / "killed"
    killed = subprocess.run([sys.executable, "-c", WRITER, str(path)], env={**os.environ}, check=False)
    assert killed.returncode == -signal.SIGKILL
    damages: dict[str, Callable[[Path], None]] = {
        "flipped": lambda log: flipped(log, log.stat().st_size // 2),
        "cut": lambda log: os.truncate(log, log.stat().st_size // 2),
        "removed": lambda log: log.unlink(),
    }
    for name, damage in damages.items():
        shutil.copytree(path, tmp_path / name)
        damage(tmp_path / name / "catalog.sqlite-wal")
        with pytest.raises((CatalogBehind, CatalogLost)):
            opened(tmp_path / name)
    with opened(path) as db:
        assert len(db.query("t")) == 20


def test_a_position_of_a_history_that_was_lost(tmp_path: Path) -> None:
    clock, path, copy = ManualClock(0), tmp_path / "shop", tmp_path / "copy"

    def again() -> Database:
        return tidings.open(path, engine="duckdb", clock=clock)

    with again() as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        kept = list(db.subscribe("t"))[-1].time
    shutil.copytree(path, copy)
    with again() as db:
        clock.set(200)
        db.sql("INSERT INTO t VALUES (2)")
        lost = list(db.subscribe("t", since=kept))[-1].time
    shutil.rmtree(path)
    shutil.copytree(copy, path)
    clock.set(300)
    with again() as db:
        db.sql("INSERT INTO t VALUES (4)")
        for since in (lost, lost.token):
            with pytest.raises(MustRefetch):
                list(db.subscribe("t", since=since))
        for known in (kept, kept.token):
            assert [c.row["a"] for b in db.subscribe("t", since=known) for c in b.changes.rows()] == [4]
        with pytest.raises(InvalidInstant):
            db.subscribe("t", since="yesterday@x")


def test_positions_are_instants() -> None:
    position = Position(5, "x")
    assert position == 5
    assert Position.read(position.token).branch == "x"
    assert Position.read("7").branch == ""

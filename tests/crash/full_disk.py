"""Fills the disk below a database, sees what it says, makes room, and sees that it goes on.

Runs as a process of its own, which forks for each case: ``python -m tests.crash.full_disk``.  Reads cases from standard
input as ``way act folder``, one per line, and answers each with ``ended`` and how.

There are two ways to run out of room, both of the operating system:

- ``limit``: no file may grow beyond a size (``RLIMIT_FSIZE``).  It needs no rights and works everywhere.
- ``disk``: the folder is a small disk of its own, and a ballast takes its room.

An act is tried with ever more room, on a new database each time, until there is enough for it.  So it runs out at
each place where it writes.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

import tidings
from tests.crash.somebody import refused
from tidings import Database, ManualClock, errors

LARGE = 6_000
"""Rows that make a log entry a file."""


# ways to run out of room


class Room(Protocol):
    """What a database has room for."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Rooms to try, ever larger."""

    def leave(self, size: int) -> None:
        """Leave room for so many bytes."""

    def make(self) -> None:
        """Make all the room there can be."""


class Limit:
    """No file of this process may be larger than a size."""

    steps = (0, 1 << 10, 5_000, 30_000, 1 << 24)

    def leave(self, size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def make(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Disk:
    """A disk whose room is taken by a file."""

    steps = (0, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 22)

    def __init__(self, folder: Path) -> None:
        self.ballast = folder / "ballast"

    def leave(self, size: int) -> None:
        found = os.statvfs(self.ballast.parent)
        with self.ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, found.f_bavail * found.f_bsize - size))

    def make(self) -> None:
        self.ballast.unlink(missing_ok=True)


# what is done


def insert(db: Database, rows: list[tuple[int, int]]) -> None:
    with db.transaction() as tx:
        tx.insert("t", rows)


def small(db: Database) -> None:
    insert(db, [(7, 70)])


def large(db: Database) -> None:
    insert(db, [(n % 9, n) for n in range(LARGE)])


def load(db: Database) -> None:
    numbers = pa.array(range(LARGE), pa.int32())
    db.load("loaded", pa.table({"k": numbers, "x": numbers}))


def fold(db: Database) -> None:
    db.fold()


def advance(db: Database) -> None:
    db.advance()


def table(db: Database) -> None:
    db.sql("CREATE TABLE made (a INT PRIMARY KEY, b STRING)")


def view(db: Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW made AS SELECT x, count(*) AS n FROM wide GROUP BY x")


def column(db: Database) -> None:
    db.sql("ALTER TABLE t ADD COLUMN more INT DEFAULT 5")


def drop(db: Database) -> None:
    db.sql("DROP VIEW totals")


def refill(db: Database) -> None:
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW totals AS SELECT k, max(x) AS s, x FROM wide GROUP BY k, x")


ACTS: dict[str, Callable[[Database], None]] = {
    f.__name__: f for f in (small, large, load, fold, advance, table, view, column, drop, refill)
}


# what must be so


def opened(folder: Path) -> Database:
    return tidings.open(folder, engine="duckdb", clock=ManualClock(1), retention=None)


def prepared(folder: Path) -> Database:
    """A database in which every act has something to do."""
    db = opened(folder)
    db.sql("CREATE TABLE t (k INT, x INT); CREATE TABLE wide (k INT, x INT); CREATE TABLE loaded (k INT, x INT)")
    db.sql("CREATE MATERIALIZED VIEW totals AS SELECT k, sum(x) AS s FROM t GROUP BY k")
    db.sql("CREATE MATERIALIZED VIEW copied AS SELECT k, x FROM wide WHERE x >= 0")
    insert(db, [(1, 10), (2, 20)])
    with db.transaction() as tx:
        tx.insert("wide", [(n % 100, n) for n in range(LARGE // 2)])
    return db


def picture(db: Database) -> dict[str, Any]:
    """Everything that can be asked for, asked of the tables alone: reading a stored view may bring it up to date."""
    tables = {n: db._parts.relations.find(n) for n in db._parts.relations.names()}
    rows = {n: sorted(map(str, db.query(f"SELECT * FROM {n}").rows())) for n in ("t", "wide", "loaded")}
    views = {v.name: (v.view.query, v.since, v.until, v.error) for v in db._parts.relations.stored()}
    return {"names": sorted(tables), "columns": {n: t.columns for n, t in tables.items() if t}, **rows, "views": views}


def consistent(db: Database) -> None:
    """Stored views say what their queries say, and their changes lead there."""
    for stored in db._parts.relations.stored():
        said, asked = (sorted(map(str, db.query(q).rows())) for q in (stored.name, stored.view.query))
        assert said == asked, stored.name
        assert stored.error is None


def tried(act: str, room: Room, size: int, folder: Path) -> bool:
    """Try an act with little room; whether there was enough."""
    db = prepared(folder)
    before = picture(db)
    room.leave(size)
    try:
        ACTS[act](db)
        failure = None
    except (errors.DiskFull, errors.NotWritable) as refusal:
        failure = refusal
        assert picture(db) == before, "it can be read while the disk is full, and nothing has changed"
    finally:
        room.make()
    if failure is not None:
        assert failure.hint, failure
        assert "room" in failure.message or "write" in failure.message, failure
        assert picture(db) == before
        with tidings.open(folder, engine="duckdb", read_only=True, clock=ManualClock(1)) as reader:
            assert picture(reader) == before, "another process sees nothing of it"
        ACTS[act](db)
    after = picture(db)
    assert after != before or (act == "fold" and not any(t.logged for t in db.status().tables if t.name in after))
    db.close()
    with opened(folder) as db:
        assert picture(db) == after
        consistent(db)
        insert_one_more(db)
        consistent(db)
        db.vacuum(timedelta(0))
        named = db._parts.storage.journal.contents.files()
    kept = {p.relative_to(folder).as_posix() for part in ("log", "base") for p in (folder / part).rglob("*.parquet")}
    assert kept == named, "no part of a file is left"
    return failure is None


def insert_one_more(db: Database) -> None:
    names = [c.name for c in db._parts.relations.table("t").columns]
    db.sql(f"INSERT INTO t ({', '.join(names[:2])}) VALUES (3, 30)")


def case(way: str, act: str, folder: Path) -> None:
    room: Room = Limit() if way == "limit" else Disk(folder)
    for number, size in enumerate(room.steps):
        place = folder / f"{act}-{size}"
        if tried(act, room, size, place):
            assert number, f"{act} needs no room"
            return
        shutil.rmtree(place)
    raise AssertionError(f"{act} never has enough room")


def open_full(way: str, folder: Path) -> None:
    """Neither a new database nor one that is there can be opened for writing; what is there can be read."""
    room: Room = Limit() if way == "limit" else Disk(folder)
    place = folder / "opened"
    prepared(place).close()
    for size in room.steps[:2]:
        room.leave(size)
        try:
            for path in (place, folder / "new"):
                with refused(errors.TidingsError, "write", ""):
                    opened(path).close()
            with tidings.open(place, engine="duckdb", read_only=True, clock=ManualClock(1)) as reader:
                consistent(reader)
        finally:
            room.make()
    for path in (place, folder / "new"):
        with opened(path) as db:
            db.sql("CREATE TABLE one (x INT); INSERT INTO one VALUES (1)")
        shutil.rmtree(path)


def main() -> None:
    tempfile.gettempdir()  # found by writing a file, while that can be done
    for line in sys.stdin:
        way, act, folder = line.split()
        child = os.fork()
        if not child:
            status = 1
            try:
                if act == "open":
                    open_full(way, Path(folder))
                else:
                    case(way, act, Path(folder))
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()

"""Looks at a database without the rights of root, for whom every folder can be written.

``python -m tests.crash.somebody look path [catalog]`` is started with all rights, imports what it needs, and gives them
away before it looks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import tidings
from tidings import Database, ManualClock, errors

NOBODY = 65534
DEFINITIONS = "CREATE TABLE t (x INT); CREATE MATERIALIZED VIEW big AS SELECT x FROM t WHERE x > 1"


def opened(path: Path, *, read_only: bool = False, catalog: str | None = None) -> Database:
    return tidings.open(path, engine="duckdb", clock=ManualClock(1), read_only=read_only, catalog=catalog)


def insert(db: Database, *values: int) -> None:
    with db.transaction() as tx:
        tx.insert("t", [(v,) for v in values])


def numbers(db: Database, name: str = "t") -> list[int]:
    return sorted(r["x"] for r in db.query(name).rows())


@contextmanager
def refused(condition: type[errors.TidingsError], message: str, hint: str) -> Iterator[None]:
    """Something must be refused, with some words."""
    try:
        yield
    except condition as refusal:
        if message not in refusal.message or hint not in str(refusal.hint):
            raise AssertionError(str(refusal)) from refusal
    else:
        raise AssertionError(f"no {condition.__name__}")


def refused_and_read(path: Path, catalog: str | None) -> None:
    """Opening to write is refused; opening to read is not, and nothing can be changed."""
    with refused(errors.NotWritable, str(path), "read_only=True"):
        opened(path, catalog=catalog).close()
    with opened(path, read_only=True, catalog=catalog) as db:
        assert numbers(db) == [1, 2, 3]
        assert numbers(db, "big") == [2, 3]
        assert [c.row["x"] for c in db.changes("big", since=1).rows()] == [3]
        for act in (lambda: insert(db, 4), lambda: db.sql("CREATE TABLE u (x INT)"), db.fold):
            with refused(errors.ReadOnly, "", "read_only"):
                act()


def refused_anew(path: Path, _: str | None) -> None:
    """A database where none can be made."""
    with refused(errors.NotWritable, str(path / "new"), "read_only=True"):
        opened(path / "new")
    with refused(errors.DatabaseMissing, str(path / "new"), "writing"):
        opened(path / "new", read_only=True)


def refused_log(path: Path, _: str | None) -> None:
    """The catalog's log cannot be read without its index, and must not be left out of account."""
    with refused(errors.NotWritable, "catalog.sqlite-wal", "copy"):
        opened(path, read_only=True)


def refused_catalog(path: Path, _: str | None) -> None:
    """What SQLite says is passed on as the same condition."""
    with refused(errors.NotWritable, "catalog", "read_only=True"):
        opened(path)


def refused_files(path: Path, _: str | None) -> None:
    """Small changes go into the catalog; what wants a file is refused, and nothing of it is done."""
    with opened(path) as db:
        insert(db, 4)
        with refused(errors.NotWritable, f"{path}/log", "write"):
            insert(db, *range(10_000))
        with refused(errors.NotWritable, f"{path}/base", "write"):
            db.fold()
        assert numbers(db) == [1, 2, 3, 4]


def follow(path: Path, _: str | None) -> None:
    """Tell what is there as often as somebody asks."""
    with opened(path, read_only=True) as db:
        for _line in sys.stdin:
            print(*numbers(db), flush=True)


LOOKS: dict[str, Callable[[Path, str | None], None]] = {
    f.__name__: f for f in (refused_and_read, refused_anew, refused_log, refused_catalog, refused_files, follow)
}


def import_all() -> None:
    """Import what is imported when it is first used: later it may be in a place that nobody may look into."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "shop.tidings") as db:
        db.sql(DEFINITIONS)
        insert(db, *range(10_000))
        db.fold()
        db.changes("big").rows()


def main() -> None:
    look, path, *catalog = sys.argv[1:]
    import_all()
    if catalog:
        opened(Path(path), read_only=True, catalog=catalog[0]).close()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    LOOKS[look](Path(path), catalog[0] if catalog else None)


if __name__ == "__main__":
    main()

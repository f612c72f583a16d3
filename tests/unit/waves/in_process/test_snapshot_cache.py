"""Snapshots in the second engine: in their files, in memory from the second scan on, and released."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.inside import in_process_of, scheduler_of
from tests.unit.waves.in_process.snapshots import ROWS, shop
from tidings import Database
from tidings.engine.duckdb import DuckDB
from tidings.engine.run import Runner
from tidings.ir.relation import Column, Scan
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table
from tidings.waves.in_process.snapshot_cache import SnapshotCache


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with shop(tmp_path / "shop") as database:
        yield database


def sales(db: Database) -> tuple[Table, Snapshot]:
    table = scheduler_of(db).relations.table("sales")
    return table, scheduler_of(db).storage.snapshots.files[table.id]


def columns(table: Table, *names: str) -> tuple[Column, ...]:
    return tuple(c for c in table.columns if c.name in names)


def bases(db: Database, cache: SnapshotCache, *scans: tuple[str, ...]) -> list[bool]:
    """Whether each of some scans reads the snapshot's files."""
    table, snapshot = sales(db)
    return [cache.columns(table, snapshot, columns(table, *names), []).base == table.base for names in scans]


def test_a_snapshot_is_readable_in_its_files(db: Database) -> None:
    engine = DuckDB()
    cache, (table, snapshot) = SnapshotCache(engine), sales(db)
    source = cache.rows(table, snapshot)
    assert (source.base, source.changes.num_rows) == (table.base, 0)  # type: ignore[union-attr]
    scan = Scan("sales", "sales", table.columns)
    assert Runner(engine).query(scan, lambda _relation, _version: source).num_rows == ROWS
    engine.close()


def test_columns_are_cached_at_the_second_scan(db: Database) -> None:
    cache = SnapshotCache(DuckDB())
    assert bases(db, cache, ("sale", "part"), ("part",), ("part",), ("amount",), ("part",)) == [
        True,
        False,
        False,
        False,
        False,
    ]
    cached = cache._cached[sales(db)[0].id]
    assert [c.name for c in cached.columns] == ["part", "amount"]
    assert cached.bytes == (8 + 4) * ROWS
    cache.engine.close()


def test_columns_that_later_scans_ask_for_are_cached_with_them(db: Database) -> None:
    cache, (table, snapshot) = SnapshotCache(DuckDB()), sales(db)
    for _ in range(2):
        cache.columns(table, snapshot, columns(table, "part"), [columns(table, "amount")])
    assert [c.name for c in cache._cached[table.id].columns] == ["part", "amount"]
    cache.engine.close()


def test_only_what_is_needed_if_there_is_no_room_for_the_rest(db: Database) -> None:
    cache, (table, snapshot) = SnapshotCache(DuckDB()), sales(db)
    cache.engine.held_limit = 8 * ROWS
    for _ in range(2):
        cache.columns(table, snapshot, columns(table, "part"), [columns(table, "amount")])
    assert [c.name for c in cache._cached[table.id].columns] == ["part"]
    cache.engine.close()


def test_a_new_snapshot_takes_the_place_of_the_old(db: Database) -> None:
    cache = SnapshotCache(DuckDB())
    assert bases(db, cache, ("part",), ("part",)) == [True, False]
    db.sql("INSERT INTO sales VALUES (5000, 1, 1)")
    db.fold()
    assert bases(db, cache, ("part",), ("part",)) == [True, False]
    cache.engine.close()


def test_a_definition_releases_everything(db: Database) -> None:
    cache, (table, snapshot) = in_process_of(db)._snapshot_cache, sales(db)
    for _ in range(2):
        cache.columns(table, snapshot, columns(table, "part"), [])
    assert cache._cached
    assert cache._files
    db.sql("CREATE VIEW v AS SELECT part FROM sales")
    assert (cache._cached, cache._files) == ({}, {})

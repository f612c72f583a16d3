"""Rows of a snapshot by their keys: whole, by row groups, or by a scan; all give the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.inside import in_process_of, scheduler_of
from tests.unit.waves.in_process.snapshots import ROWS, shop
from tidings import Database
from tidings.delta.lookups import Lookup
from tidings.ir.relation import Version
from tidings.store.relation.table import Table
from tidings.waves.in_process import snapshot_reader
from tidings.waves.in_process.snapshot_reader import SnapshotReader

SCANS = {"FEW_ROW_GROUPS": 0, "MANY_ROW_GROUPS": -1}
"""Limits at which every lookup is a scan."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with shop(tmp_path / "shop") as database:
        yield database


def reader(db: Database) -> SnapshotReader:
    return in_process_of(db)._snapshots


def sales(db: Database) -> Table:
    return scheduler_of(db).relations.table("sales")


def lookup(db: Database, column: str | None, *, nulls: bool = False) -> Lookup:
    columns = sales(db).columns
    by = next((c for c in columns if c.name == column), None)
    return Lookup(f"sales?{column}{nulls}", "sales", Version.OLD, columns, by, nulls=nulls)


def numbers(db: Database, column: str, keys: list[int], *, nulls: bool = False) -> list[int]:
    rows = reader(db).rows(sales(db), lookup(db, column, nulls=nulls), pa.array(keys, pa.int64()), (0, 1))
    assert rows is not None
    of_keys = [row for row in rows.to_pylist() if row[column] in keys or (nulls and row[column] is None)]
    return sorted(row["sale"] for row in of_keys)


@pytest.mark.parametrize("limits", [{}, SCANS])
def test_rows_by_keys(db: Database, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(snapshot_reader, name, value)
    by_part = [n for n in range(ROWS) if n % 10 and n * 7 % 100 in (3, 7)]
    without = [n for n in range(ROWS) if n % 10 == 0]
    assert numbers(db, "sale", [3, 999, 5000]) == [3, 999]
    assert numbers(db, "part", [3, 7]) == by_part
    assert numbers(db, "part", [3, 7], nulls=True) == sorted(by_part + without)


def test_a_small_table_is_read_whole(db: Database) -> None:
    rows = reader(db).rows(sales(db), lookup(db, None), pa.nulls(0), (0, 1))
    assert rows is not None
    assert rows.num_rows == ROWS
    assert reader(db).is_small(sales(db))


def test_a_scan_that_would_take_too_long_is_refused(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SCANS, "SCAN_LIMIT": ROWS - 1}.items():
        monkeypatch.setattr(snapshot_reader, name, value)
    assert reader(db).rows(sales(db), lookup(db, "part"), pa.array([3], pa.int64()), (0, 1)) is None


def test_what_is_in_no_snapshot(db: Database) -> None:
    memory = scheduler_of(db).relations.table("memory")
    assert reader(db).rows(memory, lookup(db, None), pa.nulls(0), (0, 1)) is None
    assert reader(db).table("memory") is memory
    assert reader(db).table("unknown") is None

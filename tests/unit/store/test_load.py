"""The rows a table begins with: all of them and their record, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.unit.store.stores import folder, new_stored_view, new_table, rows, rows_of_u
from tidings.engine.duckdb import DuckDB
from tidings.errors import ReadOnly
from tidings.store.define import define
from tidings.store.load import load
from tidings.store.open import open_in_memory
from tidings.store.rules import instances


def refuse() -> None:
    raise ZeroDivisionError


def test_loaded_rows_are_the_base(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table = new_table()
        define(storage, table)
        load(storage, table, rows_of_u((2, 20), (1, 30)), "c", [], committed=1)
    with folder(tmp_path) as storage:
        table = storage.relations.table("u")
        assert (table.base_size, table.sorted_by, table.entry_log.end) == (2, "c", (0, 0))
        assert rows(storage, table) == [(1, 30, None), (2, 20, None)]


@pytest.mark.parametrize("in_folder", [True, False])
def test_refused_rows_leave_the_table_empty(tmp_path: Path, in_folder: bool) -> None:
    with folder(tmp_path) as on_disk:
        storage = on_disk if in_folder else open_in_memory(DuckDB())
        table = new_table()
        define(storage, table)
        with pytest.raises(ZeroDivisionError):
            load(storage, table, rows_of_u((1, 10)), "a", [], refuse, committed=1)
        assert (table.base, rows(storage, table)) == (None, [])
        assert storage.journal.contents.snapshots() == {}
        assert not list(tmp_path.rglob("*.parquet"))


def test_stored_views_that_read_it_begin_anew(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table, view = new_table(), new_stored_view("SELECT a FROM u")
        define(storage, table)
        define(storage, view)
        load(storage, table, rows_of_u((1, 10)), "a", [view], committed=1)
        assert view.is_outdated
    with folder(tmp_path) as storage:
        assert [v.is_outdated for v in storage.relations.stored()] == [True]


def test_more_is_recorded_together_with_the_load(tmp_path: Path) -> None:
    def track(connection: Connection) -> None:
        instances.track(connection, 3)

    def track_and_fail(connection: Connection) -> None:
        instances.track(connection, 4)
        raise ZeroDivisionError

    with folder(tmp_path) as storage:
        table = new_table()
        define(storage, table)
        with pytest.raises(ZeroDivisionError):
            load(storage, table, rows_of_u((1, 10)), "a", [], None, track_and_fail, committed=1)
        assert (rows(storage, table), storage.journal.contents.snapshots()) == ([], {})
        load(storage, table, rows_of_u((1, 10)), "a", [], None, track, committed=1)
        with storage.rule_tables.reading() as connection:
            assert [instances.is_tracked(connection, rule) for rule in (3, 4)] == [True, False]


def test_a_reader_loads_nothing(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        define(storage, new_table())
    with folder(tmp_path, read_only=True) as reader, pytest.raises(ReadOnly):
        load(reader, reader.relations.table("u"), rows_of_u((1, 10)), "a", [], committed=1)

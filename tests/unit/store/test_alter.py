"""Tables with other names or more columns, and relations that are dropped: now, and when the store is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.store.stores import folder, new_stored_view, new_table, new_view, rows, rows_of_u
from tidings.engine.duckdb import DuckDB
from tidings.errors import ReadOnly
from tidings.ir.relation import Column
from tidings.store.alter import alter, drop
from tidings.store.define import define
from tidings.store.load import load
from tidings.store.open import open_in_memory
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.storage import Storage

SHORT = (Column("a", "int"), Column("c", "bigint"))
LONG = (*SHORT, Column("e", "int"))
ALTERED = Table("wide", LONG, Constraints(added=(("e", "9"),)))


def filled(storage: Storage) -> Table:
    """A table with one row in its base and one in its log."""
    table = Table("u", SHORT)
    define(storage, table)
    load(storage, table, rows_of_u((1, 10)).select(["a", "c"]), "a", [], committed=1)
    with storage.together(5):
        storage.log(table, table.entry(5, rows_of_u((2, 20)).select(["a", "c"]), [1]))
    return table


def altered(table: Table) -> Table:
    return Table(ALTERED.name, ALTERED.columns, ALTERED.constraints, id=table.id)


def test_rows_of_a_base_and_of_the_log_get_the_new_column() -> None:
    storage = open_in_memory(DuckDB())
    table = filled(storage)
    alter(storage, table, altered(table))
    assert storage.relations.names() == ["wide"]
    assert rows(storage, table) == [(1, 10, 9), (2, 20, 9)]


def test_an_altered_table_is_there_for_the_next_process(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table = filled(storage)
        alter(storage, table, altered(table))
        assert rows(storage, table) == [(1, 10, 9), (2, 20, 9)]
    with folder(tmp_path) as storage:
        assert storage.relations.names() == ["wide"]
        assert rows(storage, storage.relations.table("wide")) == [(1, 10, 9), (2, 20, 9)]


def test_dropped_relations_are_gone(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table, view, grouped = new_table(), new_view("SELECT a FROM u"), new_stored_view("SELECT a, c FROM u", "s")
        for relation in (table, view, grouped):
            define(storage, relation)
        assert storage.snapshots.files.keys() == {grouped.rows.id}
        drop(storage, [view, grouped])
        assert storage.relations.names() == ["u"]
        assert storage.snapshots.files == {}
    with folder(tmp_path) as storage:
        assert storage.relations.names() == ["u"]


def test_a_reader_alters_nothing(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        filled(storage)
    with folder(tmp_path, read_only=True) as reader:
        table = reader.relations.table("u")
        with pytest.raises(ReadOnly):
            alter(reader, table, altered(table))
        with pytest.raises(ReadOnly):
            drop(reader, [table])
        assert reader.relations.names() == ["u"]

"""New relations get numbers, and are there for the next process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.store.stores import folder, new_stored_view, new_table, new_view
from tidings.engine.duckdb import DuckDB
from tidings.errors import DuplicateRelation
from tidings.store.define import define
from tidings.store.open import open_in_memory


def test_each_relation_has_a_number_of_its_own() -> None:
    storage = open_in_memory(DuckDB())
    table, view = new_table(), new_view("SELECT a FROM u")
    grouped = new_stored_view("SELECT a, count(*) AS n FROM u GROUP BY a", "grouped")
    for relation in (table, view, grouped):
        define(storage, relation)
    assert (table.id, storage.ids.of(view), [t.id for t in grouped.all_tables]) == (1, 2, [3, 4])


def test_a_name_is_taken_without_regard_to_case() -> None:
    storage = open_in_memory(DuckDB())
    define(storage, new_table("u"))
    with pytest.raises(DuplicateRelation):
        define(storage, new_view("SELECT a FROM u", "U"))
    assert storage.ids.last == 1


def test_a_stored_view_is_recorded_with_its_groupings_and_their_snapshots(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        define(storage, new_table())
        view = new_stored_view("SELECT a, count(*) AS n FROM u GROUP BY a", at=7)
        define(storage, view)
        contents = storage.journal.contents
        assert [(d.name, d.kind) for d in contents.definitions()] == [
            ("u", "table"),
            ("v", "stored"),
            ("v#groups1", "kept"),
        ]
        assert {n: s.time for n, s in contents.snapshots().items()} == {t.id: 7 for t in view.all_tables}
        assert contents.cursors()[view.rows.id].until == 7


def test_the_rows_of_a_new_table_can_be_loaded_from_its_journal(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table = new_table()
        assert table.entry_log.load is None
        define(storage, table)
        assert table.entry_log.load is not None
        assert table.entry_log.load(0, 100) == []

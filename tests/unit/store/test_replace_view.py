"""Views in the place of others: their names, their numbers, and which rows still count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.unit.store.stores import folder, new_stored_view, new_table, new_view, rows
from tidings.engine.duckdb import DuckDB
from tidings.store import replace_view
from tidings.store.define import define
from tidings.store.open import open_in_memory
from tidings.store.relation.view import StoredView, View
from tidings.store.stored_views import fill

FIRST, SECOND = "SELECT a FROM u", "SELECT a FROM u WHERE a > 1"


def of_ints(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int32())})


def test_a_view_keeps_its_number_under_another_query(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        old, new = new_view(FIRST), new_view(SECOND)
        define(storage, new_table())
        define(storage, old)
        number = storage.ids.of(old)
        replace_view.replace(storage, old, new, [], 12)
        assert (storage.relations.find("v"), storage.ids.of(new)) == (new, number)
    with folder(tmp_path) as storage:
        view = storage.relations.find("v")
        assert isinstance(view, View)
        assert (view.query, storage.ids.of(view), storage.defined_since) == (SECOND, number, {"v": 12})


def test_a_view_becomes_a_stored_one_and_a_plain_one_again(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        define(storage, new_table())
        plain, stored = new_view(FIRST), new_stored_view(FIRST)
        define(storage, plain)
        fill(storage, stored, {"v": of_ints(3, 4)}, 7)
        replace_view.replace(storage, plain, stored, [], None)
    with folder(tmp_path) as storage:
        view = storage.relations.find("v")
        assert isinstance(view, StoredView)
        assert (rows(storage, view.rows), view.until) == ([(3,), (4,)], 7)
        replace_view.replace(storage, view, new_view(SECOND), [], None)
        assert storage.relations.stored() == []
    with folder(tmp_path) as storage:
        assert isinstance(storage.relations.find("v"), View)
        assert storage.journal.contents.snapshots() == {}


def test_the_rows_of_stored_readers_do_not_count_any_more() -> None:
    storage = open_in_memory(DuckDB())
    old, reader = new_view(FIRST), new_stored_view("SELECT a, c FROM u", "above")
    for relation in (new_table(), old, reader):
        define(storage, relation)
    assert not reader.is_outdated
    replace_view.replace(storage, old, new_view(SECOND), [(reader, reader)], 12)
    assert reader.is_outdated
    assert storage.defined_since == {"v": 12}


def test_a_stored_view_with_another_text_has_its_rows(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        define(storage, new_table())
        old, new = new_stored_view(FIRST), new_stored_view("SELECT u.a FROM u")
        fill(storage, old, {"v": of_ints(3)}, 7)
        define(storage, old)
        new.tables, new.cursor = old.tables, old.cursor
        replace_view.redefine(storage, new)
    with folder(tmp_path) as storage:
        (view,) = storage.relations.stored()
        assert (view.view.query, rows(storage, view.rows)) == ("SELECT u.a FROM u", [(3,)])

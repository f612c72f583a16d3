"""What a journal holds comes back without its rows being read."""

from __future__ import annotations

from pathlib import Path

from tests.unit.store.stores import folder, new_stored_view, new_table, new_view, rows, rows_of_u
from tidings.errors import DamagedFile
from tidings.store.define import define
from tidings.store.load import load
from tidings.store.relation.view import Refresh


def test_relations_come_back_with_their_numbers(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table, view = new_table(), new_view("SELECT a FROM u")
        stored = new_stored_view("SELECT a, count(*) AS n FROM u GROUP BY a", "s")
        stored.refresh = Refresh.IMMEDIATE
        for relation in (table, view, stored):
            define(storage, relation)
        numbers = {t.name: t.id for t in storage.tables()}
        last = storage.ids.last
    with folder(tmp_path) as storage:
        assert storage.relations.names() == ["u", "v", "s"]
        assert {t.name: t.id for t in storage.tables()} == numbers
        assert numbers.keys() == {"u", "s", "s#groups1"}
        assert storage.ids.next() == last + 1
        (stored,) = storage.relations.stored()
        assert (stored.refresh, stored.since, stored.is_outdated) == (Refresh.IMMEDIATE, 7, False)


def test_rows_of_the_log_are_read_when_somebody_asks(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table = new_table()
        define(storage, table)
        with storage.together(5):
            storage.log(table, table.entry(5, rows_of_u((1, 10)), [1]))
    with folder(tmp_path) as storage:
        table = storage.relations.table("u")
        assert table.entry_log.rows == [None]
        assert (table.history.size(5), table.last) == (1, 5)
        assert table.entry_log.rows == [None]
        assert rows(storage, table) == [(1, 10, None)]
        assert storage.fold_candidates == {table.id: table}


def test_a_table_whose_snapshot_is_gone_says_so_when_it_is_read(tmp_path: Path) -> None:
    with folder(tmp_path) as storage:
        table = new_table()
        define(storage, table)
        load(storage, table, rows_of_u((1, 10), (2, 20)), "a", [], committed=1)
    for file in (tmp_path / "base").rglob("*.parquet"):
        file.unlink()
    with folder(tmp_path) as storage:
        table = storage.relations.table("u")
        assert isinstance(table.damage, DamagedFile)
        assert table.history.size(0) == 2

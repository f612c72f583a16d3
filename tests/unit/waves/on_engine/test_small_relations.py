"""Small relations in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.inside import scheduler_of
from tests.unit.waves.in_process.snapshots import ROWS, shop
from tidings import Database
from tidings.store.relation.table import Table
from tidings.waves.on_engine import small_relations
from tidings.waves.on_engine.small_relations import SmallRelations, is_small

ENOUGH = 1 << 20


def sales(db: Database) -> Table:
    return scheduler_of(db).relations.table("sales")


def read(db: Database, relations: SmallRelations, *names: str) -> None:
    """Read some columns of sales from the engine."""
    table = sales(db)
    lookup = relations.lookup(table, tuple(c for c in table.columns if c.name in names))
    (rows,) = scheduler_of(db).storage.backend.look_up([lookup])
    relations.add(table, rows)


def test_what_was_read_is_there(tmp_path: Path) -> None:
    with shop(tmp_path / "shop") as db:
        relations, table = SmallRelations(ENOUGH), sales(db)
        assert relations.rows(table, table.columns[:1]) is None
        read(db, relations, "sale")
        rows = relations.rows(table, table.columns[:1])
        assert rows is not None
        assert sorted(rows.column("sale").to_pylist()) == list(range(ROWS))


def test_more_columns_are_read_with_those_that_are_there(tmp_path: Path) -> None:
    with shop(tmp_path / "shop") as db:
        relations, table = SmallRelations(ENOUGH), sales(db)
        read(db, relations, "sale")
        assert relations.rows(table, table.columns[:2]) is None
        read(db, relations, "part")
        assert relations.rows(table, table.columns[:2]) is not None


def test_another_base_is_read_anew(tmp_path: Path) -> None:
    with shop(tmp_path / "shop") as db:
        relations = SmallRelations(ENOUGH)
        read(db, relations, "sale")
        db.sql("DELETE FROM sales WHERE sale < 10")
        db.fold()
        assert relations.rows(sales(db), sales(db).columns[:1]) is None


def test_what_was_used_longest_ago_gives_way(tmp_path: Path) -> None:
    with shop(tmp_path / "shop") as db:
        relations = SmallRelations(limit=8 * ROWS - 1)
        read(db, relations, "sale")
        assert relations.rows(sales(db), sales(db).columns[:1]) is None


def test_small_is_a_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop(tmp_path / "shop") as db:
        assert is_small(sales(db))
        monkeypatch.setattr(small_relations, "SMALL_RELATION", ROWS - 1)
        assert not is_small(sales(db))

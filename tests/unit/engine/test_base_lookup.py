"""Lookups of a few rows in several bases."""

from __future__ import annotations

import pyarrow as pa

from tidings.engine.base_lookup import BaseLookup, lookup_query
from tidings.engine.duckdb import DuckDB
from tidings.ir.relation import Column

ITEMS = (Column("id", "int"), Column("name", "string"))
STOCK = (Column("item", "int"), Column("n", "bigint"))


def test_several_bases_in_one_query() -> None:
    engine = DuckDB()
    engine.load("items", ITEMS, pa.table({"id": [1, 2, None], "name": ["a", "b", "c"]}), "id")
    engine.load("stock", STOCK, pa.table({"item": [1, 2], "n": [10, 20]}), "item")
    lookups = [
        BaseLookup("items", ITEMS, ITEMS[0], pa.array([2]), nulls=True),
        BaseLookup("stock", STOCK, STOCK[0], pa.array([1, 7]), nulls=False),
        BaseLookup("stock", STOCK[1:], None, pa.array([]), nulls=False),
    ]
    items, stock, whole = engine.look_up(lookups)
    assert sorted(items.column("name").to_pylist()) == ["b", "c"]
    assert stock.to_pylist() == [{"item": 1, "n": 10}]
    assert sorted(whole.column("n").to_pylist()) == [10, 20]
    engine.close()


def test_a_lookup_without_a_column_reads_all_rows() -> None:
    lookup = BaseLookup("items", ITEMS, None, pa.array([]), nulls=False)
    assert "WHERE TRUE" in lookup_query([lookup], ["v"], "duckdb")

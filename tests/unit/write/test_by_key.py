"""Changes of rows that are named by their key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings import Database
from tidings.errors import InvalidRow, KeyNeeded, MissingRow


@pytest.fixture
def stock(db: Database) -> Database:
    db.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT, place STRING)")
    db.sql("INSERT INTO stock VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')")
    return db


def rows(db: Database) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.query("stock"))


@pytest.mark.parametrize(
    "named",
    [
        [(1,)],
        [{"item": 1}],
        [{"item": 1, "place": "a"}],
        [(1, 10, "a")],
        pa.table({"item": pa.array([1], pa.int64())}),
    ],
)
def test_delete(stock: Database, named: Any) -> None:
    with stock.transaction() as tx:
        tx.delete("stock", named)
    assert [row[0] for row in rows(stock)] == [2, 3]


def test_rows_named_in_several_ways_at_once(stock: Database) -> None:
    with stock.transaction() as tx:
        tx.delete("stock", [(1,), {"item": 2}, (3, 30, "c")])
    assert rows(stock) == []


@pytest.mark.parametrize("named", [[(9,)], [{"item": 1, "place": "z"}], [(1,), (1,)]])
def test_rows_that_are_not_there(stock: Database, named: Any) -> None:
    with pytest.raises(MissingRow), stock.transaction() as tx:
        tx.delete("stock", named)
    assert len(rows(stock)) == 3


def test_updates_build_on_each_other_in_the_order_given(stock: Database) -> None:
    with stock.transaction() as tx:
        tx.update("stock", [{"item": 1, "qty": 11}, {"item": 1, "place": "z"}, {"item": 1, "qty": 12}])
        tx.update("stock", [{"item": 2, "qty": None}])
    assert rows(stock)[:2] == [(1, 12, "z"), (2, None, "b")]


def test_an_update_sees_what_the_transaction_has_done(stock: Database) -> None:
    with stock.transaction() as tx:
        tx.insert("stock", [(4, 40, "d")])
        tx.update("stock", [{"item": 4, "place": "e"}])
    assert rows(stock)[-1] == (4, 40, "e")


def test_refusals(stock: Database) -> None:
    with pytest.raises(KeyNeeded), stock.transaction() as tx:
        tx.update("quantity", [{"item": 1, "qty": 1}])
    with pytest.raises(InvalidRow, match="a column of the key"), stock.transaction() as tx:
        tx.update("stock", [{"qty": 1}])
    with pytest.raises(MissingRow), stock.transaction() as tx:
        tx.update("stock", [{"item": 9, "qty": 1}])

"""All or nothing, at one instant, net."""

from __future__ import annotations

from typing import Any

import pytest

from tidings import Database, ManualClock
from tidings.errors import InvalidRow, MissingRow, NotATable, UnknownRelation, UnknownTransactionState


def quantities(db: Database) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in db.query("quantity").rows())


def put(db: Database, *rows: tuple[int, int]) -> int:
    with db.transaction() as tx:
        tx.insert("quantity", list(rows))
    assert tx.time is not None
    return tx.time


def test_commit_at_the_end_of_the_block(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 2)])
        assert quantities(db) == []
        assert tx.time is None
    assert quantities(db) == [(1, 2)]
    assert tx.time == db.time == 1000


def test_rollback_on_exception(db: Database) -> None:
    tx = db.transaction()

    def fail() -> None:
        with tx:
            tx.insert("quantity", [(1, 2)])
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fail()
    assert quantities(db) == []
    assert (db.time, tx.time) == (0, None)


def test_rollback_by_hand(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 2)])
        tx.rollback()
    assert quantities(db) == []


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_ends_once(db: Database, end: str) -> None:
    tx = db.transaction()
    getattr(tx, end)()
    for call in (tx.commit, tx.rollback, lambda: tx.insert("quantity", [(1, 2)]), lambda: tx.delete("quantity", [])):
        with pytest.raises(UnknownTransactionState) as refused:
            call()
        assert refused.value.parameters["reason"]
    assert quantities(db) == []


def test_net_effect(db: Database) -> None:
    start = put(db, (1, 1), (2, 2))
    with db.transaction() as tx:
        tx.insert("quantity", [(3, 3), (4, 4), (4, 4)])
        tx.delete("quantity", [(3, 3), (1, 1)])
        tx.insert("quantity", [(1, 1)])
    changed = db.changes("quantity", since=start)
    assert [(c.row["item"], c.weight) for c in changed.rows()] == [(4, 2)]


def test_delete_and_insert_in_either_order(db: Database) -> None:
    """Only the net effect counts, so a delete may come before its insert."""
    with db.transaction() as tx:
        tx.delete("quantity", [(1, 1)])
        tx.insert("quantity", [(1, 1)])
    assert quantities(db) == []


def test_nothing_half_done_when_one_row_is_bad(db: Database) -> None:
    def insert_both() -> None:
        with db.transaction() as tx:
            tx.insert("threshold", [(1, 1)])
            tx.insert("quantity", [(1, 2), ("x", 3)])

    with pytest.raises(InvalidRow):
        insert_both()
    assert quantities(db) == []
    assert len(db.query("threshold")) == 0
    assert db.time == 0


def test_nothing_half_done_when_one_table_lacks_a_row(db: Database) -> None:
    before = put(db, (1, 1))
    tx = db.transaction()
    tx.insert("threshold", [(1, 1)])
    tx.delete("quantity", [(1, 1)])
    tx.delete("quantity", [(9, 9)])
    with pytest.raises(MissingRow) as refused:
        tx.commit()
    assert refused.value.parameters == {"table": "quantity", "row": {"item": 9, "qty": 9}}
    assert quantities(db) == [(1, 1)]
    assert len(db.query("threshold")) == 0
    assert db.time == before


def test_a_row_can_be_deleted_as_often_as_it_is_there(db: Database) -> None:
    put(db, (1, 1), (1, 1))
    with pytest.raises(MissingRow), db.transaction() as tx:
        tx.delete("quantity", [(1, 1)] * 3)
    with db.transaction() as tx:
        tx.delete("quantity", [(1, 1)] * 2)
    assert quantities(db) == []
    with pytest.raises(MissingRow), db.transaction() as tx:
        tx.delete("quantity", [(1, 1)])


def test_rows_with_nulls_can_be_deleted(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [{"item": None, "qty": None}])
    with db.transaction() as tx:
        tx.delete("quantity", [{}])
    assert quantities(db) == []


def test_update_is_a_delete_and_an_insert(db: Database) -> None:
    start = put(db, (1, 1), (2, 2))
    with db.transaction() as tx:
        tx.update("quantity", [(1, 1), (2, 2)], [(1, 5), (2, 2)])
    (pair,) = db.changes("quantity", since=start).paired("item")
    assert (pair.old, pair.new) == ({"item": 1, "qty": 1}, {"item": 1, "qty": 5})


def test_unknown_table_and_views(db: Database) -> None:
    with pytest.raises(UnknownRelation) as refused, db.transaction() as tx:
        tx.insert("nosuch", [(1, 2)])
    assert refused.value.parameters == {"name": "nosuch"}
    with pytest.raises(NotATable) as of_view, db.transaction() as tx:
        tx.insert("LOW", [(1, 2)])
    assert of_view.value.parameters == {"name": "low"}


def test_a_refused_insert_does_not_end_the_transaction(db: Database) -> None:
    with db.transaction() as tx:
        tx.insert("quantity", [(1, 1)])
        with pytest.raises(InvalidRow):
            tx.insert("quantity", [("x", 1)])
        tx.insert("quantity", [(2, 2)])
    assert quantities(db) == [(1, 1), (2, 2)]


def test_times_increase_while_the_clock_stands_still(db: Database) -> None:
    assert [put(db, (n, n)) for n in range(3)] == [1000, 1001, 1002]


def test_times_increase_when_the_clock_goes_back(db: Database, clock: ManualClock) -> None:
    first = put(db, (1, 1))
    clock.set(5)
    second = put(db, (2, 2))
    clock.set(5000)
    assert (first, second, put(db, (3, 3))) == (1000, 1001, 5000)


def test_an_empty_transaction_has_a_time_too(db: Database) -> None:
    with db.transaction() as tx:
        pass
    assert tx.time == 1000
    assert len(db.changes("quantity")) == 0


def test_maps_and_arrays_as_values(db: Database) -> None:
    db.sql("CREATE TABLE nested (m MAP<STRING, ARRAY<INT>>, a ARRAY<ARRAY<INT>>, s STRUCT<x: ARRAY<INT>>)")
    value = {"m": [("k", [1, 2])], "a": [[1], None], "s": {"x": [1]}}
    with db.transaction() as tx:
        tx.insert("nested", [value, value])
    with db.transaction() as tx:
        tx.delete("nested", [value])
    assert db.query("nested").rows() == [value]

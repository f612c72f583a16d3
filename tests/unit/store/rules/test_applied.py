"""A transaction with an id counts once, also after the database was opened again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import tidings
from tidings import Database, ManualClock, Transaction
from tidings.errors import TransactionRepeated, UnknownTransactionState
from tidings.store.rules.applied import KEPT


@pytest.fixture(params=["memory", "folder"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    path = None if request.param == "memory" else tmp_path / "shop"
    with tidings.open(path, engine="duckdb", clock=ManualClock()) as database:
        database.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, amount INT)")
        yield database


def apply(db: Database, id: str) -> Transaction:
    with db.transaction(id=id) as tx:
        tx.insert("sale", [{"id": 1, "amount": 5}])
        tx.sql("UPDATE sale SET amount = amount + 1")
    return tx


def test_a_repeated_transaction_changes_nothing(db: Database) -> None:
    first, second = apply(db, "batch-1"), apply(db, "batch-1")
    assert (first.repeated, second.repeated) == (False, True)
    assert first.time == second.time == db.time
    assert db.query("sale").rows() == [{"id": 1, "amount": 6}]


CHANGES: list[Callable[[Transaction], object]] = [
    lambda tx: tx.insert("sale", [(1, 1)]),
    lambda tx: tx.upsert("sale", [(1, 1)]),
    lambda tx: tx.delete("sale", [{"id": 77}]),
    lambda tx: tx.update("sale", [{"id": 77, "amount": 1}]),
    lambda tx: tx.sql("DELETE FROM sale"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_passed_over(db: Database, change: Callable[[Transaction], tidings.AffectedRows]) -> None:
    apply(db, "batch-1")
    with db.transaction(id="batch-1") as tx:
        assert change(tx).count == 0
        assert tx.query("sale").rows() == [{"id": 1, "amount": 6}]
    with pytest.raises(UnknownTransactionState):
        tx.insert("sale", [(2, 2)])


def test_other_ids_and_none_are_other_transactions(db: Database) -> None:
    apply(db, "batch-1")
    with db.transaction(id="batch-2") as tx:
        tx.sql("UPDATE sale SET amount = 0")
    with db.transaction() as tx:
        tx.insert("sale", [(2, 2)])
    assert sorted(r["amount"] for r in db.query("sale")) == [0, 2]


def test_a_transaction_that_failed_may_be_tried_again(db: Database) -> None:
    tx = db.transaction(id="batch-1")
    tx.insert("sale", [(1, 1)])
    tx.rollback()
    assert not apply(db, "batch-1").repeated


def test_an_empty_transaction_is_recorded_too(db: Database) -> None:
    with db.transaction(id="empty"):
        pass
    assert db.transaction(id="empty").repeated


def test_of_two_at_once_the_second_is_refused(db: Database) -> None:
    second = db.transaction(id="batch-1")
    second.insert("sale", [(9, 9)])
    apply(db, "batch-1")
    with pytest.raises(TransactionRepeated) as refused:
        second.commit()
    assert refused.value.parameters == {"id": "batch-1", "time": db.time}
    assert db.query("sale").rows() == [{"id": 1, "amount": 6}]


def test_ids_outlive_the_process(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "shop", engine="duckdb") as db:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, amount INT)")
        apply(db, "batch-1")
    with tidings.open(tmp_path / "shop", engine="duckdb") as db:
        assert apply(db, "batch-1").repeated


def test_ids_are_forgotten_in_the_end(tmp_path: Path) -> None:
    clock = ManualClock()
    with tidings.open(tmp_path / "shop", engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, amount INT)")
        apply(db, "batch-1")
        clock.set(clock.now() + KEPT + 10_000_000)
        with db.transaction(id="batch-2"):
            pass
        assert not db.transaction(id="batch-1").repeated
        assert db.transaction(id="batch-2").repeated


def test_a_catalog_of_earlier_has_no_ids_and_gets_them(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "shop", engine="duckdb") as db:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, amount INT)")
    with closing(sqlite3.connect(tmp_path / "shop" / "catalog.sqlite")) as connection:
        connection.execute("DROP TABLE applied")
        connection.commit()
    with tidings.open(tmp_path / "shop", engine="duckdb") as db:
        assert not apply(db, "batch-1").repeated
        assert apply(db, "batch-1").repeated

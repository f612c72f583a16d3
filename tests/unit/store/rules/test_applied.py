"""A transaction with an id counts once, also after the database was opened again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.postgresql import schema, server
from tidings import Database, ManualClock, Transaction
from tidings.errors import InvalidTransactionId, ReadOnly, TidingsError, TransactionRepeated, UnknownTransactionState
from tidings.store.rules.applied import KEPT, LONGEST


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    path, catalog = None if request.param == "memory" else tmp_path / "shop", None
    if request.param == "postgresql":
        name = f"s{abs(hash(request.node.name)) % 10**9}"
        catalog = schema(request.getfixturevalue("postgresql"), name)
    with tidings.open(path, engine="duckdb", clock=ManualClock(), catalog=catalog) as database:
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


@pytest.mark.parametrize("id", [17, b"batch", "", "a\0b", "\ud800", "ü" * LONGEST, True])
def test_ids_are_texts_that_every_catalog_keeps(db: Database, id: Any) -> None:
    with pytest.raises(InvalidTransactionId):
        db.transaction(id=id)


@pytest.mark.parametrize("id", ["ü" * (LONGEST // 2), " ", "O'Neil; DROP TABLE sale --"])
def test_any_other_text_is_an_id(db: Database, id: str) -> None:
    assert not apply(db, id).repeated
    assert apply(db, id).repeated


def test_a_refused_transaction_leaves_its_id_free(db: Database) -> None:
    db.sql("CREATE RULE small WHEN SELECT id FROM sale WHERE amount > 100 DO RAISE 'too much'")
    with pytest.raises(TidingsError), db.transaction(id="batch-1") as tx:
        tx.insert("sale", [(1, 1000)])
    assert not apply(db, "batch-1").repeated


def test_rules_fire_once(db: Database) -> None:
    db.sql("""CREATE TABLE seen (id BIGINT);
              CREATE RULE see WHEN SELECT id FROM sale DO INSERT INTO seen SELECT id FROM condition""")
    apply(db, "batch-1")
    apply(db, "batch-1")
    db.advance()
    assert db.query("seen").rows() == [{"id": 1}]


def test_a_reader_knows_ids_and_commits_nothing(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "shop", engine="duckdb") as db:
        db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, amount INT)")
        apply(db, "batch-1")
        with tidings.open(tmp_path / "shop", engine="duckdb", read_only=True) as reader:
            assert apply(reader, "batch-1").repeated
            with pytest.raises(ReadOnly), reader.transaction(id="batch-2") as tx:
                tx.insert("sale", [(2, 2)])

"""Loads into tables that have rows: one transaction, whole or not at all, seen by views and rules as any other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.constraints import enforce
from tidings.engine.row_values import row_keys
from tidings.errors import CheckViolated, DuplicateKey, InvalidRow, LateRow, NullNotAllowed, RuleRaised, TidingsError
from tidings.store.relation.net import Net

MANY = 12_000
"""More rows than are looked at one by one."""


@pytest.fixture(params=["memory", "log", "base"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Two rows of stock: loaded in memory, in the log of a folder, or in a snapshot there."""
    folder = None if request.param == "memory" else tmp_path / "shop"
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1000)) as database:
        database.sql("""
            CREATE TABLE stock (item BIGINT PRIMARY KEY, name STRING NOT NULL, qty INT CHECK (qty >= 0));
            CREATE TABLE log (item BIGINT);
        """)
        if request.param == "memory":
            database.load("stock", stock(1, 3))
        else:
            database.sql("INSERT INTO stock VALUES (1, 'item 1', 1), (2, 'item 2', 2)")
        if request.param == "base":
            database.fold()
        yield database


def stock(first: int, last: int, **columns: list[Any]) -> pa.Table:
    """Rows of items, perhaps with other values in some columns."""
    items = range(first, last)
    values = {"item": list(items), "name": [f"item {i}" for i in items], "qty": [i % 100 for i in items]} | columns
    types = {"item": pa.int64(), "name": pa.string(), "qty": pa.int32()}
    return pa.table({name: pa.array(values[name], type) for name, type in types.items()})


def items(db: Database) -> list[int]:
    return sorted(row["item"] for row in db.query("stock").rows())


@pytest.mark.parametrize("last", [6, MANY])
def test_further_rows_are_one_transaction(db: Database, last: int) -> None:
    db.sql("CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n FROM stock")
    subscription, before = db.subscribe("stock"), db.time
    assert len(next(subscription).changes) == 2
    db.load("stock", stock(3, last))
    assert items(db) == list(range(1, last))
    assert len(db.query("stock", as_of=before)) == 2
    changes = db.changes("stock", since=before, per_commit=True)
    assert {change.time for change in changes.rows()} == {db.time}
    (batch,) = subscription
    assert (batch.time, len(batch.changes)) == (db.time, last - 3)
    assert db.query("total").rows() == [{"n": last - 1}]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"item": [2]}, DuplicateKey),
        ({"item": [4]}, DuplicateKey),
        ({"name": [None]}, NullNotAllowed),
        ({"qty": [-1]}, CheckViolated),
    ],
)
def test_what_breaks_a_constraint_refuses_the_whole_load(
    db: Database, bad: dict[str, list[Any]], error: type[TidingsError], many: bool
) -> None:
    before = db.time
    rows = pa.concat_tables([stock(3, MANY if many else 9), stock(50_000, 50_001, **bad)])
    with pytest.raises(error) as refused:
        db.load("stock", rows)
    assert refused.value.parameters["row"] == rows.num_rows
    assert (db.time, items(db)) == (before, [1, 2])
    db.load("stock", stock(3, 9))
    assert items(db) == list(range(1, 9))


def test_no_row_of_a_large_load_becomes_a_python_value(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql("CREATE RULE tell WHEN SELECT item FROM stock WHERE qty = 1000 DO NOTIFY 'x'")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")

    def few(rows: pa.Table) -> list[Any]:
        assert rows.num_rows < 100
        return row_keys(rows)

    def add(self: Net, rows: pa.Table, weights: object) -> None:
        raise AssertionError("rows are counted one by one")

    monkeypatch.setattr(enforce, "row_keys", few)
    with monkeypatch.context() as patched:
        patched.setattr(Net, "add", add)
        db.load("stock", stock(3, MANY))
    assert len(db.query("stock")) == MANY - 1
    with pytest.raises(DuplicateKey):
        db.load("stock", stock(MANY - 1, 2 * MANY))


def test_keys_that_were_deleted_are_free(db: Database) -> None:
    db.sql("DELETE FROM stock WHERE item = 2")
    db.load("stock", stock(2, MANY))
    assert items(db) == list(range(1, MANY))


def test_keys_of_several_columns_and_types(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql("CREATE TABLE t (d DATE, n DECIMAL(8,2), s STRING, v INT, PRIMARY KEY (d, n, s))")
        days, count = [date(2026, 1, 1), date(2026, 1, 2)], 11_000

        def rows(day: date, first: int) -> pa.Table:
            numbers = range(first, first + count)
            return pa.table(
                {
                    "d": pa.array([day] * count),
                    "n": pa.array([Decimal(n) for n in numbers], pa.decimal128(8, 2)),
                    "s": pa.array([str(n % 7) for n in numbers]),
                    "v": pa.array([n % 3 for n in numbers], pa.int32()),
                }
            )

        db.load("t", rows(days[0], 0))
        db.load("t", rows(days[1], 0))
        with pytest.raises(DuplicateKey) as refused:
            db.load("t", rows(days[1], count - 1))
        assert refused.value.parameters["row"] == 1
        db.load("t", rows(days[1], count))
        assert len(db.query("t")) == 3 * count


@pytest.mark.parametrize("action", ["immediate", "deferred", "detached"])
def test_rules_see_a_load_as_a_transaction(db: Database, action: str) -> None:
    db.sql(f"""
        CREATE RULE note WHEN SELECT item FROM stock WHERE qty = 7 DO INSERT INTO log SELECT item FROM condition
          WITH (condition = '{"immediate" if action == "immediate" else "deferred"}', action = '{action}')
    """)
    db.load("stock", stock(3, 110))
    if action != "detached":
        (firing,) = db.query("SELECT time, finished FROM tidings.firings").rows()
        assert firing["time"] == firing["finished"]
        assert tidings.micros(firing["time"]) == db.time
    db.advance()
    assert sorted(row["item"] for row in db.query("log").rows()) == [7, 107]


def test_a_rule_may_refuse_a_load(db: Database) -> None:
    db.sql("CREATE RULE no WHEN SELECT item FROM stock WHERE qty = 99 DO RAISE 'too many'")
    with pytest.raises(RuleRaised):
        db.load("stock", stock(3, 200))
    assert items(db) == [1, 2]


def test_a_load_of_nothing_is_no_transaction(db: Database) -> None:
    before = db.time
    db.load("stock", stock(3, 3))
    assert db.time == before


def test_rows_that_repeat_where_there_is_no_key(db: Database) -> None:
    db.load("log", pa.table({"item": [1]}))
    db.load("log", pa.table({"item": [1, 2, 2]}))
    assert sorted(row["item"] for row in db.query("log").rows()) == [1, 1, 2, 2]


def test_what_cannot_be_read(db: Database) -> None:
    for rows in (
        stock(3, 4).rename_columns(["item", "name", "amount"]),
        [(3, "item 3")],
        pa.table({"item": ["x"], "name": ["x"], "qty": [1]}),
    ):
        with pytest.raises(InvalidRow):
            db.load("stock", rows)
    with pytest.raises(InvalidRow):
        db.load("stock", stock(3, 4), sorted_by="name")
    assert items(db) == [1, 2]


def test_a_history_goes_on_after_the_last_commit() -> None:
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    with tidings.open(engine="duckdb", clock=clock) as db:
        db.sql("CREATE TABLE m (id INT, ts TIMESTAMP) WITH (append_only, time = ts)")
        days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
        db.load("m", [{"id": 1, "ts": days[0]}, {"id": 2, "ts": days[1]}])
        db.load("m", [{"id": 3, "ts": days[2]}])
        with pytest.raises(LateRow):
            db.load("m", [{"id": 4, "ts": days[1]}])
        assert len(db.query("m")) == 3


def test_further_rows_survive(tmp_path: Path) -> None:
    with tidings.open(tmp_path, engine="duckdb") as db:
        db.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, name STRING, qty INT)")
        db.load("stock", stock(0, MANY))
        db.load("stock", stock(MANY, 2 * MANY))
        db.sql("UPDATE stock SET qty = 1000 WHERE item = 20000")
    with tidings.open(tmp_path, engine="duckdb") as db:
        assert items(db) == list(range(2 * MANY))
        assert db.query("SELECT item FROM stock WHERE qty = 1000").rows() == [{"item": 20000}]

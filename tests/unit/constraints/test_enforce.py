"""What tables demand holds after every transaction, wherever their rows are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, ManualClock
from tidings.errors import (
    AppendOnly,
    CheckViolated,
    DuplicateKey,
    InvalidExpression,
    InvalidSyntax,
    MissingRow,
    NullNotAllowed,
    TidingsError,
    UnknownColumn,
    UnsupportedType,
)

SHOP = """
CREATE TABLE stock (
    item BIGINT PRIMARY KEY,
    qty INT NOT NULL DEFAULT 5 CHECK (qty >= 0),
    name STRING CHECK (length(name) < 10),
    CHECK (item <> qty OR name LIKE 'same%')
);
CREATE TABLE pairs (a INT, b STRING, v DOUBLE, PRIMARY KEY (b, a));
CREATE TABLE events (id INT, at TIMESTAMP) WITH (append_only, time = at);
"""


@pytest.fixture(params=["memory", "folder"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else tmp_path / "shop"
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql(SHOP)
        yield db


def rows(db: Database, table: str = "stock") -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in db.query(table).rows())


def refused(db: Database, error: type[TidingsError], *statements: str) -> dict[str, Any]:
    before = {t: rows(db, t) for t in ("stock", "pairs", "events")}
    with pytest.raises(error) as found, db.transaction() as tx:
        tx.sql("; ".join(statements))
    assert {t: rows(db, t) for t in ("stock", "pairs", "events")} == before
    return dict(found.value.parameters)


def test_not_null_names_row_and_column(shop: Database) -> None:
    found = refused(shop, NullNotAllowed, "INSERT INTO stock VALUES (1, 1, 'a'), (2, NULL, 'b')")
    assert (found["row"], found["table"], found["column"]) == (2, "stock", "qty")
    assert found["values"] == {"item": 2, "qty": None, "name": "b"}


def test_a_primary_key_is_not_null(shop: Database) -> None:
    assert refused(shop, NullNotAllowed, "INSERT INTO stock (qty) VALUES (3)")["column"] == "item"


def test_check_names_row_column_and_value(shop: Database) -> None:
    found = refused(shop, CheckViolated, "INSERT INTO stock VALUES (1, 1, 'same'), (2, -3, 'b')")
    assert (found["row"], found["column"], found["found"]) == (2, "qty", "qty is -3")
    assert found["check"] == "qty >= 0"


def test_check_over_several_columns(shop: Database) -> None:
    found = refused(shop, CheckViolated, "INSERT INTO stock VALUES (7, 7, 'other')")
    assert found["column"] == "item, qty, name"
    shop.sql("INSERT INTO stock VALUES (7, 7, 'same!')")


def test_check_that_is_unknown_holds(shop: Database) -> None:
    shop.sql("INSERT INTO stock VALUES (1, 1, NULL)")
    assert rows(shop) == [(1, 1, None)]


def test_defaults(shop: Database) -> None:
    shop.sql("INSERT INTO stock (item) VALUES (1); INSERT INTO stock VALUES (2, DEFAULT, 'x')")
    with shop.transaction() as tx:
        tx.insert("stock", [{"item": 3}, {"item": 4, "qty": 1}])
        tx.insert("stock", pa.table({"item": [6]}))
    assert rows(shop) == [(1, 5, None), (2, 5, "x"), (3, 5, None), (4, 1, None), (6, 5, None)]


@pytest.mark.parametrize("where", ["log", "base", "loaded"])
def test_a_key_is_taken_wherever_its_row_is(shop: Database, where: str) -> None:
    if where == "loaded":
        columns = {"item": pa.array([1, 2], pa.int64()), "qty": pa.array([5, 6], pa.int32()), "name": ["a", "b"]}
        shop.load("stock", pa.table(columns))
    else:
        shop.sql("INSERT INTO stock VALUES (1, 5, 'a'), (2, 6, 'b')")
    if where == "base":
        shop.fold()
    found = refused(shop, DuplicateKey, "INSERT INTO stock VALUES (3, 3, 'same'), (2, 9, 'c')")
    assert (found["row"], found["key"]) == (2, "item = 2")
    shop.sql("DELETE FROM stock WHERE item = 2; INSERT INTO stock VALUES (2, 9, 'c')")
    refused(shop, DuplicateKey, "INSERT INTO stock VALUES (2, 6, 'b')")
    assert rows(shop) == [(1, 5, "a"), (2, 9, "c")]


def test_two_rows_of_one_transaction(shop: Database) -> None:
    refused(shop, DuplicateKey, "INSERT INTO stock VALUES (1, 5, 'a'), (1, 6, 'b')")
    refused(shop, DuplicateKey, "INSERT INTO stock VALUES (1, 5, 'a'), (1, 5, 'a')")


def test_keys_may_change_hands_within_a_transaction(shop: Database) -> None:
    shop.sql("INSERT INTO stock VALUES (1, 10, 'a'), (2, 20, 'b')")
    shop.sql("UPDATE stock SET item = 3 - item")
    assert rows(shop) == [(1, 20, "b"), (2, 10, "a")]
    with shop.transaction() as tx:
        tx.sql("INSERT INTO stock VALUES (1, 30, 'c')")
        tx.sql("DELETE FROM stock WHERE qty = 20")
    assert rows(shop) == [(1, 30, "c"), (2, 10, "a")]


def test_what_comes_and_goes_breaks_nothing(shop: Database) -> None:
    with shop.transaction() as tx:
        tx.sql("INSERT INTO stock VALUES (1, -10, 'far too long a name')")
        tx.sql("DELETE FROM stock WHERE item = 1")
    assert rows(shop) == []
    assert len(shop.changes("stock", per_commit=True)) == 0


def test_a_key_of_several_columns(shop: Database) -> None:
    shop.sql("INSERT INTO pairs VALUES (1, 'x', 0.5), (1, 'y', 0.5), (2, 'x', NULL)")
    found = refused(shop, DuplicateKey, "INSERT INTO pairs VALUES (1, 'y', 2.5)")
    assert found["key"] == "b = 'y', a = 1"
    shop.fold()
    refused(shop, DuplicateKey, "INSERT INTO pairs VALUES (2, 'x', 2.5)")
    shop.sql("UPDATE pairs SET v = 1.5 WHERE a = 1 AND b IN ('x', 'y', 'z')")
    assert rows(shop, "pairs") == [(1, "x", 1.5), (1, "y", 1.5), (2, "x", None)]


def test_append_only(shop: Database) -> None:
    shop.sql("INSERT INTO events VALUES (1, TIMESTAMP '2026-01-01 00:00:00')")
    assert refused(shop, AppendOnly, "DELETE FROM events")["table"] == "events"
    refused(shop, AppendOnly, "UPDATE events SET id = 2")
    shop.sql("UPDATE events SET id = 1")
    assert len(rows(shop, "events")) == 1


def test_loaded_rows_are_held_to_it_too(shop: Database) -> None:
    def loaded(items: list[int | None], amounts: list[int]) -> pa.Table:
        columns = {"item": pa.array(items, pa.int64()), "qty": pa.array(amounts, pa.int32())}
        return pa.table({**columns, "name": pa.array([None] * len(items), pa.string())})

    for error, data in (
        (NullNotAllowed, loaded([1, None], [2, 2])),
        (CheckViolated, loaded([1, 2], [3, -1])),
        (DuplicateKey, loaded([4, 4], [3, 3])),
    ):
        with pytest.raises(error):
            shop.load("stock", data)
        assert rows(shop) == []
    shop.load("stock", loaded([1, 2], [3, 4]))
    assert rows(shop) == [(1, 3, None), (2, 4, None)]


def test_history_is_held_to_it_too(shop: Database) -> None:
    shop.sql("CREATE TABLE seen (id INT PRIMARY KEY, at BIGINT NOT NULL) WITH (append_only, time = at)")
    shop.load("seen", [(1, 500), (2, 600)])
    with pytest.raises(DuplicateKey):
        shop.load("seen", [(3, 700), (2, 800)])
    assert rows(shop, "seen") == [(1, 500), (2, 600)]


def test_deletes_need_their_rows(shop: Database) -> None:
    shop.sql("INSERT INTO stock VALUES (1, 5, 'a')")
    shop.fold()
    with pytest.raises(MissingRow), shop.transaction() as tx:
        tx.delete("stock", [(1, 5, "b")])
    with shop.transaction() as tx:
        tx.delete("stock", [(1, 5, "a")])
    with pytest.raises(MissingRow), shop.transaction() as tx:
        tx.delete("stock", [(1, 5, "a")])


def test_demands_survive_reopening(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "shop", engine="duckdb", clock=ManualClock(1000)) as db:
        db.sql(SHOP + "INSERT INTO stock VALUES (1, 5, 'a')")
    with tidings.open(tmp_path / "shop", engine="duckdb", clock=ManualClock(2000)) as db:
        refused(db, DuplicateKey, "INSERT INTO stock VALUES (1, 6, 'a')")
        refused(db, NullNotAllowed, "INSERT INTO stock VALUES (2, NULL, 'a')")
        refused(db, CheckViolated, "INSERT INTO stock VALUES (2, 3, 'far too long a name')")
        db.sql("INSERT INTO stock (item) VALUES (2); INSERT INTO events VALUES (1, NULL)")
        refused(db, AppendOnly, "DELETE FROM events")
        assert rows(db) == [(1, 5, "a"), (2, 5, None)]


@pytest.mark.parametrize(
    ("text", "error", "marked"),
    [
        ("CREATE TABLE t (a INT CHECK (b > 0))", UnknownColumn, "b"),
        ("CREATE TABLE t (a INT CHECK (a + 1))", InvalidExpression, "a + 1"),
        ("CREATE TABLE t (a INT, CHECK (a IN (SELECT item FROM stock)))", TidingsError, None),
        ("CREATE TABLE t (a INT, CHECK (sum(a) > 0))", TidingsError, None),
        ("CREATE TABLE t (a INT DEFAULT b)", TidingsError, None),
        ("CREATE TABLE t (a INT DEFAULT 'x')", TidingsError, None),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", UnknownColumn, None),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)", InvalidSyntax, None),
        ("CREATE TABLE t (a ARRAY<INT> PRIMARY KEY)", UnsupportedType, None),
        ("CREATE TABLE t (a INT, at STRING) WITH (append_only, time = at)", InvalidSyntax, None),
        ("CREATE TABLE t (a INT, at TIMESTAMP) WITH (time = at)", InvalidSyntax, None),
        ("CREATE TABLE t (a INT, at TIMESTAMP) WITH (append_only, time = it)", UnknownColumn, None),
    ],
)
def test_demands_that_make_no_sense(shop: Database, text: str, error: type[TidingsError], marked: str | None) -> None:
    with pytest.raises(error) as found:
        shop.sql(text)
    assert shop._parts.relations.find("t") is None
    if marked is not None:
        place = found.value.place
        assert place is not None
        assert place.text[place.start : place.end] == marked

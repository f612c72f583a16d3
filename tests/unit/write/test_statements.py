"""UPDATE, DELETE, MERGE and INSERT, in transactions of their own and inside others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import Database, ManualClock
from tidings.engine.duckdb import DuckDB
from tidings.errors import (
    AmbiguousMerge,
    EngineFailed,
    InvalidExpression,
    InvalidRow,
    InvalidSyntax,
    MissingRow,
    NotATable,
    TidingsError,
    UnknownColumn,
    UnknownRelation,
    UnsupportedStatement,
)
from tidings.lang.sql import statement as sql
from tidings.write.statements import check
from tidings.write.workspace import Workspace

SHOP = """
CREATE TABLE stock (item BIGINT PRIMARY KEY, qty INT, name STRING, price DECIMAL(8,2), seen TIMESTAMP);
CREATE TABLE bag (x INT, y STRING, tags ARRAY<STRING>);
CREATE TABLE orders (item BIGINT, amount INT);
CREATE VIEW low AS SELECT item, qty FROM stock WHERE qty < 10;
CREATE MATERIALIZED VIEW total AS SELECT sum(qty) AS qty FROM stock;
INSERT INTO stock (item, qty, name) VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
INSERT INTO bag VALUES (1, 'a', array('t')), (1, 'a', array('t')), (2, NULL, NULL);
INSERT INTO orders VALUES (1, 5), (1, 6), (3, 1);
"""


@pytest.fixture(params=["memory", "folded"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    folder = None if request.param == "memory" else tmp_path / "shop"
    with tidings.open(folder, engine="duckdb", clock=ManualClock(1_000_000)) as db:
        db.sql(SHOP)
        if request.param == "folded":
            db.fold()
        yield db


def rows(db: Database, query: str = "SELECT item, qty FROM stock") -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in db.query(query).rows()), key=repr)


def no_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be asked of the engine but values of expressions."""
    fetch = DuckDB.fetch

    def guarded(self: DuckDB, text: str, *more: Any, **named: Any) -> Any:
        assert "tidings values" in text, text
        return fetch(self, text, *more, **named)

    monkeypatch.setattr(DuckDB, "fetch", guarded)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("", [11, 21, 31]),
        ("WHERE item = 2", [10, 21, 30]),
        ("WHERE stock.item = 2 AND qty > 20", [10, 20, 30]),
        ("WHERE item IN (1, 3, 99) AND name <> 'c'", [11, 20, 30]),
        ("WHERE 2 = item", [10, 21, 30]),
        ("WHERE item = NULL", [10, 20, 30]),
        ("WHERE qty BETWEEN 15 AND 40", [10, 21, 31]),
        ("WHERE item IN (SELECT item FROM orders)", [11, 20, 31]),
        ("WHERE EXISTS (SELECT 1 FROM orders o WHERE o.item = stock.item AND o.amount > 5)", [11, 20, 30]),
        ("WHERE item = 2 AND qty / 2 = 10", [10, 21, 30]),
        ("WHERE item = 1 + 1", [10, 21, 30]),
        ("WHERE item = '2'", [10, 21, 30]),
    ],
)
def test_update_where(shop: Database, where: str, wanted: list[int]) -> None:
    shop.sql(f"UPDATE stock SET qty = qty + 1 {where}")
    assert [q for _, q in rows(shop)] == wanted


def test_update_by_key_asks_the_engine_nothing(shop: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.sql("UPDATE stock SET name = 'z' WHERE item = 3")
    with monkeypatch.context() as patch:
        no_queries(patch)
        for item in (1, 2, 3, 4):
            shop.sql(
                f"UPDATE stock SET qty = qty * 2, name = upper(name), seen = now() WHERE item = {item} AND qty > 10"
            )
        shop.sql("DELETE FROM stock WHERE item IN (1, 7)")
        shop.sql("INSERT INTO stock VALUES (9, 9, 'i', 1.25, now()), (10, -1, NULL, DEFAULT, NULL)")
        with shop.transaction() as tx:
            tx.update("stock", [{"item": 2, "price": 3}])
            tx.delete("stock", [{"item": 10}])
    assert rows(shop) == [(2, 40), (3, 60), (9, 9)]
    found = shop.query("SELECT name, price, seen FROM stock WHERE item = 2").rows()[0]
    assert (found["name"], float(found["price"])) == ("B", 3.0)
    assert found["seen"] is not None


def test_update_of_several_columns_reads_old_values(shop: Database) -> None:
    shop.sql("UPDATE stock AS s SET s.qty = CAST(s.item AS INT), item = qty WHERE s.item < 3")
    assert rows(shop) == [(10, 1), (20, 2), (3, 30)]


def test_update_by_subquery(shop: Database) -> None:
    shop.sql("UPDATE stock SET qty = coalesce((SELECT sum(amount) FROM orders o WHERE o.item = stock.item), 0)")
    assert rows(shop) == [(1, 11), (2, 0), (3, 1)]


def test_updates_of_bags(shop: Database) -> None:
    shop.sql("UPDATE bag SET x = x + 1, tags = array('u', y) WHERE y = 'a'")
    assert (
        shop.query("SELECT x, y, tags FROM bag WHERE x = 2 AND y = 'a'").rows()
        == [{"x": 2, "y": "a", "tags": ["u", "a"]}] * 2
    )
    shop.sql("DELETE FROM bag WHERE tags IS NULL")
    assert len(shop.query("bag")) == 2
    shop.sql("DELETE FROM bag")
    assert len(shop.query("bag")) == 0


def test_update_to_the_same_is_no_change(shop: Database) -> None:
    before = shop.time
    shop.sql("UPDATE stock SET qty = qty WHERE item = 1; UPDATE stock SET qty = qty; DELETE FROM stock WHERE item = 77")
    assert not shop.changes("stock", since=before, per_commit=True).rows()


def test_now_is_the_statement_s_instant(shop: Database) -> None:
    shop._parts.clock.set(5_000_000)  # type: ignore[attr-defined]
    shop.sql("UPDATE stock SET seen = now() WHERE item < 3")
    assert {r["seen"] for r in shop.query("SELECT seen FROM stock WHERE item < 3").rows()} == {
        datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    }
    assert shop.time == 5_000_000
    shop.sql("DELETE FROM stock WHERE seen < now() - INTERVAL 1 SECOND")
    assert len(shop.query("stock")) == 3


def test_default_in_update(shop: Database) -> None:
    shop.sql("CREATE TABLE d (a INT DEFAULT 7, b INT); INSERT INTO d (b) VALUES (1); UPDATE d SET a = 1, b = DEFAULT")
    assert rows(shop, "d") == [(1, None)]
    shop.sql("UPDATE d SET a = DEFAULT")
    assert rows(shop, "d") == [(7, None)]


def test_defaults_that_move(shop: Database) -> None:
    shop.sql(
        "CREATE TABLE d (a INT, at TIMESTAMP DEFAULT now(), day DATE DEFAULT current_date(), u STRING DEFAULT 'ä')"
    )
    for second in (2, 3):
        shop._parts.clock.set(second * 1_000_000)  # type: ignore[attr-defined]
        shop.sql(f"INSERT INTO d (a) VALUES ({second})")
    found = shop.query("SELECT a, second(at) AS s, u FROM d").rows()
    assert sorted((r["a"], r["s"], r["u"]) for r in found) == [(2, 2, "ä"), (3, 3, "ä")]


def test_insert_from_a_query_into_the_table_it_reads(shop: Database) -> None:
    shop.sql("INSERT INTO stock (item, qty) SELECT item + 10, qty FROM stock WHERE qty > 10")
    assert rows(shop) == [(1, 10), (12, 20), (13, 30), (2, 20), (3, 30)]


@pytest.mark.parametrize("value", ["1.25", "-1.25", "1.255", "12", "1.0 / 8"])
def test_decimals_are_cast_as_the_engine_casts_them(shop: Database, value: str) -> None:
    shop.sql(f"INSERT INTO stock (item, price) VALUES (9, {value}), (10, {value} + 0)")
    first, second = (r["price"] for r in shop.query("SELECT price FROM stock WHERE item >= 9").rows())
    assert first == second


# merge

MERGE = """MERGE INTO stock AS s USING (SELECT item, sum(amount) AS amount FROM orders GROUP BY item) AS o
ON s.item = o.item """


def test_merge(shop: Database) -> None:
    shop.sql("INSERT INTO orders VALUES (8, 80), (9, 90)")
    shop.sql(
        MERGE
        + """WHEN MATCHED AND s.qty < 11 THEN DELETE
        WHEN MATCHED THEN UPDATE SET qty = s.qty - o.amount, s.name = 'sold'
        WHEN NOT MATCHED AND o.amount > 85 THEN INSERT (item, qty, name) VALUES (o.item, o.amount, 'new')
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = 'idle'"""
    )
    assert rows(shop, "SELECT item, qty, name FROM stock") == [(2, 20, "idle"), (3, 29, "sold"), (9, 90, "new")]


def test_merge_every_column(shop: Database) -> None:
    shop.sql("CREATE TABLE more (item BIGINT, qty INT, name STRING, price DECIMAL(8,2), seen TIMESTAMP)")
    shop.sql("INSERT INTO more (item, qty) VALUES (3, 3), (4, 4)")
    shop.sql(
        "MERGE INTO stock USING more ON stock.item = more.item "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(shop, "SELECT item, qty, name FROM stock") == [(1, 10, "a"), (2, 20, "b"), (3, 3, None), (4, 4, None)]


def test_merge_matches_once(shop: Database) -> None:
    plain = "MERGE INTO stock s USING orders o ON s.item = o.item WHEN MATCHED"
    with pytest.raises(AmbiguousMerge) as refused:
        shop.sql(f"{plain} THEN UPDATE SET qty = amount")
    assert refused.value.parameters["values"]["item"] == 1  # type: ignore[index]
    shop.sql(f"{plain} AND o.amount <> 6 THEN UPDATE SET qty = amount")
    assert rows(shop) == [(1, 5), (2, 20), (3, 1)]


def test_merge_into_a_bag(shop: Database) -> None:
    """Two rows that are the same are two rows, and each is matched once."""
    shop.sql("MERGE INTO bag USING (VALUES (1)) AS v (n) ON bag.x = v.n WHEN MATCHED THEN UPDATE SET y = 'm'")
    assert rows(shop, "SELECT x, y FROM bag") == [(1, "m"), (1, "m"), (2, None)]
    with pytest.raises(AmbiguousMerge):
        shop.sql("MERGE INTO bag USING (VALUES (1), (1)) AS v (n) ON bag.x = v.n WHEN MATCHED THEN DELETE")


def test_merge_with_defaults(shop: Database) -> None:
    shop.sql("CREATE TABLE d (a INT, b INT DEFAULT 7, c TIMESTAMP)")
    shop.sql(
        "MERGE INTO d USING orders ON d.a = orders.item WHEN NOT MATCHED AND amount < 6 THEN "
        "INSERT (a, c) VALUES (amount, now())"
    )
    assert sorted((r["a"], r["b"]) for r in shop.query("d").rows()) == [(1, 7), (5, 7)]
    assert all(r["c"] is not None for r in shop.query("d").rows())


# inside transactions


def test_a_transaction_reads_what_it_wrote(shop: Database) -> None:
    with shop.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 1 WHERE item = 2")
        tx.insert("stock", [{"item": 4, "qty": 2}])
        assert sorted(r["item"] for r in tx.query("low").rows()) == [2, 4]
        assert tx.query("total").rows() == [{"qty": 43}]
        assert shop.query("total").rows() == [{"qty": 60}]
        tx.sql("UPDATE stock SET qty = qty + 10 WHERE item IN (2, 4)")
        tx.sql("DELETE FROM stock WHERE qty = 12")
        result = tx.sql("SELECT item, qty FROM stock")
        assert result is not None
        assert sorted(tuple(r.values()) for r in result.rows()) == [(1, 10), (2, 11), (3, 30)]
        tx.update("stock", [{"item": 2, "qty": 12}, {"item": 2, "name": "last"}])
        tx.delete("stock", [{"item": 1}])
        assert len(tx.query("stock")) == 2
    assert rows(shop, "SELECT item, qty, name FROM stock") == [(2, 12, "last"), (3, 30, "c")]
    assert shop.query("total").rows() == [{"qty": 42}]


def test_a_failed_statement_leaves_the_transaction_as_it_was(shop: Database) -> None:
    with shop.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 0 WHERE item = 1")
        with pytest.raises(EngineFailed):
            tx.sql("UPDATE stock SET qty = CAST(name AS INT)")
        with pytest.raises(MissingRow):
            tx.update("stock", [{"item": 1, "qty": 5}, {"item": 55, "qty": 5}])
    assert rows(shop) == [(1, 0), (2, 20), (3, 30)]


def test_reads_of_rows_that_are_not_there(shop: Database) -> None:
    tx = shop.transaction()
    tx.delete("orders", [(7, 7)])
    with pytest.raises(MissingRow):
        tx.query("orders")
    tx.insert("orders", [(7, 7)])
    assert len(tx.query("orders")) == 3
    tx.commit()


def test_definitions_stay_outside(shop: Database) -> None:
    with pytest.raises(UnsupportedStatement), shop.transaction() as tx:
        tx.sql("CREATE TABLE x (a INT)")


@pytest.mark.parametrize(
    ("text", "error", "marked"),
    [
        ("UPDATE nosuch SET a = 1", UnknownRelation, "nosuch"),
        ("UPDATE low SET qty = 1", NotATable, "low"),
        ("INSERT INTO low SELECT 1, 2", NotATable, "low"),
        ("UPDATE stock SET quantity = 1", UnknownColumn, "quantity"),
        ("UPDATE stock SET qty = item2 WHERE item = 1", UnknownColumn, "item2"),
        ("UPDATE stock s SET qty = stock.qty", UnknownColumn, "stock.qty"),
        ("UPDATE stock SET other.qty = 1", UnknownColumn, "other.qty"),
        ("UPDATE stock SET qty = 1, qty = 2", InvalidExpression, "qty"),
        ("UPDATE stock SET qty = 1 WHERE itm = 1", UnknownColumn, "itm"),
        ("DELETE FROM stock WHERE itm = 1", UnknownColumn, "itm"),
        ("DELETE FROM nosuch", UnknownRelation, "nosuch"),
        ("INSERT INTO nosuch VALUES (1)", UnknownRelation, "nosuch"),
        ("INSERT INTO orders (item, amunt) VALUES (1, 2)", UnknownColumn, None),
        ("INSERT INTO orders VALUES (1)", InvalidExpression, None),
        ("INSERT INTO orders VALUES (1, 3000000000)", InvalidRow, None),
        ("MERGE INTO stock USING nosuch ON TRUE WHEN MATCHED THEN DELETE", UnknownRelation, "nosuch"),
        ("MERGE INTO stock USING orders o ON stock.item = o.itm WHEN MATCHED THEN DELETE", UnknownColumn, "o.itm"),
        ("MERGE INTO stock USING orders o ON TRUE WHEN NOT MATCHED THEN INSERT (a) VALUES (1)", UnknownColumn, "a"),
        (
            "MERGE INTO stock USING orders o ON TRUE WHEN NOT MATCHED THEN INSERT (qty) VALUES (1, 2)",
            InvalidSyntax,
            None,
        ),
    ],
)
def test_errors_have_places(shop: Database, text: str, error: type[TidingsError], marked: str | None) -> None:
    before = shop.time
    with pytest.raises(error) as refused:
        shop.sql(f"\n{text}")
    if marked is not None:
        place = refused.value.place
        assert place is not None
        assert place.text[place.start : place.end] == marked
    assert shop.time == before


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders VALUES (1, 2)",
        "INSERT INTO orders SELECT item, qty FROM stock",
        "UPDATE stock SET qty = qty + 1 WHERE item = 1",
        "DELETE FROM stock",
        "MERGE INTO stock s USING orders o ON s.item = o.item WHEN MATCHED THEN DELETE",
    ],
)
def test_what_is_checked_is_not_done(shop: Database, text: str) -> None:
    (statement,) = sql.read(text)
    assert isinstance(statement, sql.Insert | sql.Update | sql.Delete | sql.Merge)
    workspace = Workspace(shop._parts.transactions.write_parts)
    check(workspace, statement)
    assert workspace.done == []


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders VALUES (1, 2, 3)",
        "INSERT INTO orders SELECT item, nosuch FROM stock",
        "UPDATE stock SET qty = nosuch WHERE item = 1",
        "DELETE FROM stock WHERE nosuch = 1",
        "MERGE INTO stock s USING orders o ON s.item = o.nosuch WHEN MATCHED THEN DELETE",
    ],
)
def test_what_is_checked_is_refused_as_when_it_is_run(shop: Database, text: str) -> None:
    (statement,) = sql.read(text)
    assert isinstance(statement, sql.Insert | sql.Update | sql.Delete | sql.Merge)
    workspace = Workspace(shop._parts.transactions.write_parts)
    with pytest.raises(TidingsError) as checked:
        check(workspace, statement)
    with pytest.raises(TidingsError) as run:
        shop.sql(text)
    assert (type(checked.value), checked.value.place) == (type(run.value), run.value.place)

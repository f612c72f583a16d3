"""Names with a schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings.errors import TidingsError, UnknownColumn, UnknownRelation, UnsupportedStatement
from tidings.lang.sql.parse import statements


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as opened:
        opened.sql(
            "CREATE TABLE sales.orders (id INT PRIMARY KEY, item INT); CREATE TABLE items (item INT, name STRING)"
        )
        opened.sql("INSERT INTO sales.orders VALUES (1, 7), (2, 8); INSERT INTO default.items VALUES (7, 'nut')")
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM sales.orders JOIN items ON orders.item = items.item",
        "SELECT default.items.name FROM sales.orders JOIN default.items ON sales.orders.item = default.items.item",
        "SELECT i.name FROM sales.orders AS o, items AS i WHERE o.item = i.item",
        "SELECT name FROM items WHERE EXISTS (SELECT 1 FROM sales.orders WHERE sales.orders.item = items.item)",
        "WITH orders AS (SELECT 8 AS item) SELECT name FROM items JOIN sales.orders AS s USING (item)",
        "SELECT name FROM items JOIN `sales.orders` AS o ON o.item = items.item",
    ],
)
def test_a_name_of_two_parts(db: tidings.Database, query: str) -> None:
    assert db.query(query).rows() == [{"name": "nut"}]


def test_statements_take_such_names(db: tidings.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW sales.counted AS SELECT item, count(*) AS n FROM sales.orders GROUP BY item")
    db.sql("UPDATE sales.orders SET item = 7 WHERE sales.orders.id = 2")
    db.sql("ALTER TABLE sales.orders ADD COLUMN note STRING")
    db.sql("MERGE INTO sales.orders AS o USING items ON o.item = items.item WHEN MATCHED THEN UPDATE SET note = name")
    with db.transaction() as tx:
        tx.insert("sales.orders", [{"id": 3, "item": 9, "note": None}])
    db.sql("DELETE FROM sales.orders WHERE id = 1")
    assert [r["note"] for r in db.query("sales.orders").rows()] == ["nut", None]
    assert sorted(r["item"] for r in db.query("SELECT * FROM sales.counted").rows()) == [7, 9]
    assert [r["column"] for r in db.sql("DESCRIBE sales.orders").rows()] == ["id", "item", "note"]  # type: ignore[union-attr]
    db.sql("DROP VIEW sales.counted; DROP TABLE sales.orders")


def test_rules_take_such_names(db: tidings.Database) -> None:
    fired = []

    @db.procedure("seen")
    def seen(rows: list[dict[str, object]]) -> None:
        fired.extend(rows)

    db.sql("CREATE RULE r ON INSERT INTO sales.orders WHEN SELECT id FROM sales.orders DO CALL seen(id)")
    db.sql("CREATE RULE c WHEN SELECT new.id AS id FROM CHANGES(sales.orders) WHERE new.id > 3 DO CALL seen(id)")
    db.sql("INSERT INTO sales.orders VALUES (4, 4)")
    db.advance()
    assert fired == [{"id": 4}, {"id": 4}]


def test_it_is_there_when_the_database_is_opened_again(tmp_path: Path) -> None:
    for text in ("CREATE TABLE a.t (x INT); CREATE VIEW a.v AS SELECT x FROM a.t", "INSERT INTO a.t VALUES (1)"):
        with tidings.open(tmp_path / "d", engine="duckdb") as db:
            db.sql(text)
            seen = db.query("SELECT * FROM a.v").rows()
    assert seen == [{"x": 1}]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT 1 FROM other.orders", UnknownRelation),
        ("SELECT 1 FROM a.sales.orders", UnknownRelation),
        ("SELECT other.orders.id FROM sales.orders", UnknownColumn),
        ("SELECT sales.orders.id FROM sales.orders AS o", UnknownColumn),
        ("SELECT sales.orders.id FROM sales.orders, items AS orders", TidingsError),
        ("CREATE SCHEMA sales", UnsupportedStatement),
        ("USE sales", UnsupportedStatement),
        ("CREATE TABLE tidings.mine (a INT)", UnsupportedStatement),
        ("CREATE TABLE a.b.c (a INT)", UnsupportedStatement),
    ],
)
def test_other_names_are_refused(db: tidings.Database, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        db.sql(text)


def test_the_place_is_that_of_the_whole_name() -> None:
    text = "SELECT 1 FROM other.orders"
    with tidings.open(engine="duckdb") as db, pytest.raises(UnknownRelation) as refused:
        db.query(text)
    place = refused.value.place
    assert place is not None
    assert text[place.start : place.end] == "other.orders"


def test_system_tables_keep_their_names() -> None:
    assert statements("SELECT name FROM tidings.rules")[0].sql("spark") == "SELECT name FROM tidings.rules"

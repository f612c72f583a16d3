"""Names by ``IDENTIFIER``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidings
from tidings.errors import InvalidExpression, InvalidParameter, UnsupportedConstruct


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(0)) as db:
        db.sql("CREATE TABLE sales.orders (item INT, `a b` INT); INSERT INTO sales.orders VALUES (1, 2)")
        yield db


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("SELECT IDENTIFIER('item') FROM IDENTIFIER('sales.orders')", None),
        ("SELECT IDENTIFIER('orders.item') FROM IDENTIFIER('sales.' || 'orders')", None),
        ("SELECT IDENTIFIER(concat('o', '.', 'item')) FROM IDENTIFIER(:t) AS o", {"t": "sales.orders"}),
        ("SELECT IDENTIFIER(?) FROM IDENTIFIER('sales.' || ?)", ["item", "orders"]),
        ("SELECT IDENTIFIER('`a b`') - 1 AS item FROM sales.orders", None),
    ],
)
def test_a_text_names_a_table_or_a_column(db: tidings.Database, query: str, params: Any) -> None:
    assert db.query(query, params=params).rows() == [{"item": 1}]


def test_tables_that_are_changed_are_named(db: tidings.Database) -> None:
    db.sql("INSERT INTO IDENTIFIER('sales.orders') VALUES (2, 3)")
    db.sql("UPDATE IDENTIFIER(:t) SET item = 4 WHERE item = 2", params={"t": "sales.orders"})
    db.sql("DELETE FROM IDENTIFIER('sales.orders') WHERE IDENTIFIER('item') = 1")
    assert db.query("sales.orders").rows() == [{"item": 4, "a b": 3}]


@pytest.mark.parametrize("name", ["a; DROP TABLE t", "a + 1", "", "`a", "a b", "a.", ".a", "'a'"])
def test_a_text_is_read_as_a_name_and_nothing_else(db: tidings.Database, name: str) -> None:
    with pytest.raises(InvalidExpression, match="is no name"):
        db.query("SELECT IDENTIFIER(:name) FROM sales.orders", params={"name": name})


@pytest.mark.parametrize(
    "query", ["SELECT IDENTIFIER(item) FROM sales.orders", "SELECT IDENTIFIER('abs')(item) FROM sales.orders"]
)
def test_what_is_no_text_or_names_a_function_is_refused(db: tidings.Database, query: str) -> None:
    with pytest.raises(UnsupportedConstruct):
        db.query(query)


def test_a_parameter_needs_a_value(db: tidings.Database) -> None:
    with pytest.raises(InvalidParameter):
        db.query("SELECT item FROM IDENTIFIER(:t)")

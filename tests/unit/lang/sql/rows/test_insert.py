"""INSERT: its columns, its constants, and the query for everything else."""

from __future__ import annotations

from typing import Any

import pytest

from tidings.errors import UnknownColumn
from tidings.ir.relation import Column
from tidings.lang.sql.rows.insert import constant_rows, insert_columns, insert_query
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statement import Insert, read

COLUMNS = (Column("item", "bigint"), Column("qty", "int"))


def insert(text: str) -> tuple[Target, Insert]:
    (statement,) = read(text)
    assert isinstance(statement, Insert)
    return Target(statement, "stock", COLUMNS, {"qty": "3 + 4"}, 1_000_000), statement


def query(text: str) -> str:
    target, statement = insert(text)
    return insert_query(target, statement.query, COLUMNS).sql("spark")


def test_columns_are_those_named_or_all() -> None:
    assert insert_columns(*insert("INSERT INTO stock VALUES (1, 2)")) == COLUMNS
    assert insert_columns(*insert("INSERT INTO stock (QTY, item) VALUES (1, 2)")) == COLUMNS[::-1]
    with pytest.raises(UnknownColumn) as refused:
        insert_columns(*insert("INSERT INTO stock (itm) VALUES (1)"))
    assert refused.value.hint == "did you mean item?"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("VALUES (1, 2), (-3, NULL)", [[1, 2], [-3, None]]),
        ("VALUES (DEFAULT, 2)", [[None, 2]]),
        ("VALUES (1, DEFAULT)", None),
        ("VALUES (1, 1 + 1)", None),
        ("VALUES (1, 'x')", None),
        ("VALUES (1)", None),
        ("SELECT 1, 2", None),
    ],
)
def test_rows_of_constants(text: str, rows: list[list[Any]] | None) -> None:
    target, statement = insert(f"INSERT INTO stock {text}")
    assert constant_rows(target, statement.query, COLUMNS) == rows


def test_default_is_filled_in_where_values_say_it() -> None:
    assert query("INSERT INTO stock VALUES (1, DEFAULT)") == "VALUES (1, CAST(3 + 4 AS INT))"


def test_the_clock_says_the_instant() -> None:
    assert "1970-01-01 00:00:01" in query("INSERT INTO stock SELECT item, unix_seconds(now()) FROM t")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT a, a FROM t", "SELECT a AS `item`, a AS `qty` FROM t"),
        ("SELECT a AS x, b FROM t", "SELECT a AS x, b AS `qty` FROM t"),
        ("SELECT a AS qty, b FROM t", "SELECT a AS qty, b FROM t"),
        ("SELECT * FROM t", "SELECT * FROM t"),
        ("SELECT a FROM t", "SELECT a FROM t"),
    ],
)
def test_unnamed_items_go_by_the_columns_they_fill(text: str, named: str) -> None:
    assert query(f"INSERT INTO stock {text}") == named

"""The rows that the WHERE of an UPDATE or DELETE selects: by a query, or by the keys it fixes."""

from __future__ import annotations

from typing import Any

import pytest

from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed
from tidings.lang.sql.rows.selection import FixedKeys, fixed_keys, selection_query
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statement import Delete, read

COLUMNS = (Column("item", "bigint"), Column("shop", "string"), Column("qty", "int"))


@pytest.fixture
def target() -> Target:
    (statement,) = read("DELETE FROM stock AS s")
    assert isinstance(statement, Delete)
    return Target(statement, "stock", COLUMNS, {}, 5)


def keys(target: Target, where: str, *key: str, limit: int = 10) -> FixedKeys | None:
    return fixed_keys(target, parsed(where), key, limit)


def test_a_query_for_the_rows_and_more_values_of_each(target: Target) -> None:
    columns = 'SELECT s."item" AS c0, s."shop" AS c1, s."qty" AS c2'
    assert selection_query(target, None).sql() == f'{columns} FROM "stock" AS "s"'
    query = selection_query(target, parsed("s.qty > 1"), [parsed("s.qty + 1")])
    assert query.sql() == f'{columns}, s.qty + 1 AS c3 FROM "stock" AS "s" WHERE s.qty > 1'


@pytest.mark.parametrize(
    ("where", "expected", "rest"),
    [
        ("item = 1", [(1,)], []),
        ("2 = S.ITEM AND qty > 3", [(2,)], ["qty > 3"]),
        ("(item = 1) AND item = 2", [(1,)], ["item = 2"]),
        ("item IN (1, 2, NULL, 1)", [(1,), (2,)], []),
        ("item = NULL", [], []),
    ],
)
def test_keys_that_a_condition_fixes(
    target: Target, where: str, expected: list[tuple[Any, ...]], rest: list[str]
) -> None:
    fixed = keys(target, where, "item")
    assert fixed is not None
    assert (fixed.keys, [part.sql() for part in fixed.rest]) == (expected, rest)


@pytest.mark.parametrize(
    "where", ["qty = 1", "item > 1", "item = qty", "item = '1'", "other.item = 1", "item = 1 OR item = 2"]
)
def test_keys_that_a_condition_leaves_open(target: Target, where: str) -> None:
    assert keys(target, where, "item") is None


def test_a_key_of_several_columns(target: Target) -> None:
    fixed = keys(target, "shop IN ('a', 'b') AND item IN (1, 2)", "item", "shop")
    assert fixed is not None
    assert fixed.keys == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert keys(target, "item = 1", "item", "shop") is None


def test_more_keys_than_the_limit(target: Target) -> None:
    assert keys(target, "item IN (1, 2, 3)", "item", limit=2) is None
    assert keys(target, "item IN (1, 2, 3)", "item", limit=3) is not None

"""Queries about the constraints of a table."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

from tidings.lang.sql.constraint_queries import (
    columns_in,
    condition_query,
    repeated_keys,
    rows_that_break,
    value_query,
)
from tidings.lang.sql.parse import parsed

ROWS = "(VALUES (1, 1), (1, 2), (2, -5), (NULL, 3), (3, NULL)) AS t (a, b)"


def rows(query: exp.Select) -> list[tuple[int | None, ...]]:
    """What a query says of a table t."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM {ROWS}")
        return sorted(connection.sql(query.sql("duckdb")).fetchall(), key=repr)


@pytest.mark.parametrize(
    ("required", "checks", "broken"),
    [
        (["a"], [], [(None, 3)]),
        ([], ["b > 0"], [(2, -5)]),
        (["a", "b"], ["b > 0 OR a = 2", "a < 3"], [(3, None), (None, 3)]),
        ([], ["a IS NULL OR a < 9"], []),
    ],
)
def test_rows_that_break_a_constraint(
    required: list[str], checks: list[str], broken: list[tuple[int | None, ...]]
) -> None:
    query = rows_that_break("t", required, checks)
    assert query is not None
    assert rows(query) == broken


def test_a_table_that_demands_nothing() -> None:
    assert rows_that_break("t", [], []) is None


def test_keys_that_several_rows_have() -> None:
    assert rows(repeated_keys("t", ["a"])) == [(1,)]
    assert rows(repeated_keys("t", ["a", "b"])) == []


def test_values_of_conditions_and_defaults() -> None:
    condition = parsed("b > 0")
    assert rows(condition_query("t", condition)).count((True,)) == 3
    assert rows(value_query(parsed("1 + 1"))) == [(2,)]
    assert condition.parent is None, "a query takes a copy of the tree"


def test_columns_that_a_condition_mentions() -> None:
    assert columns_in("T.B > 0 AND a IS NULL", ["a", "b", "c"]) == ["a", "b"]
    assert columns_in("1 < 2", ["a"]) == []

"""Spark's names and types from DuckDB."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tidings.engine.spark_typing import spark_name, spark_type, with_typed_nulls
from tidings.errors import UnsupportedType


@pytest.mark.parametrize(
    ("duckdb", "spark"),
    [
        ('"NULL"', "void"),
        ("HUGEINT", "decimal(38,0)"),
        ("INTEGER", "int"),
        ("VARCHAR", "string"),
        ("DECIMAL(10,2)", "decimal(10,2)"),
        ("INTEGER[]", "array<int>"),
    ],
)
def test_types(duckdb: str, spark: str) -> None:
    assert spark_type(duckdb) == spark


def test_a_type_that_nothing_else_can_read_is_refused() -> None:
    with pytest.raises(UnsupportedType):
        spark_type("STRUCT(INTEGER, DECIMAL(11,1)[])")


@pytest.mark.parametrize(("item", "name"), [("a AS b", "b"), ("t.a", "a"), ("t.a + 1", "(a + 1)")])
def test_names(item: str, name: str) -> None:
    query = sqlglot.parse_one(f"SELECT {item}", read="spark")
    assert isinstance(query, exp.Select)
    assert spark_name(query.selects[0]) == name


def test_typed_nulls_are_no_constants() -> None:
    query = sqlglot.parse_one("SELECT s || CAST(NULL AS STRING) AS x FROM t", read="spark")
    assert isinstance(query, exp.Query)
    assert "RAND" in with_typed_nulls(query).sql().upper()
    plain = sqlglot.parse_one("SELECT 1 AS x", read="spark")
    assert isinstance(plain, exp.Query)
    assert with_typed_nulls(plain) is plain

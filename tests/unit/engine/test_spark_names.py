"""Spark's names of columns from DuckDB."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from tidings.engine.spark_names import spark_name


@pytest.mark.parametrize(("item", "name"), [("a AS b", "b"), ("t.a", "a"), ("t.a + 1", "(a + 1)")])
def test_names(item: str, name: str) -> None:
    query = sqlglot.parse_one(f"SELECT {item}", read="spark")
    assert isinstance(query, exp.Select)
    assert spark_name(query.selects[0]) == name

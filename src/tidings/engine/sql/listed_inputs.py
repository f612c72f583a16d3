"""A query whose inputs are its parameters: each column of an input is a list.

    WITH q AS (SELECT unnest(CAST($q0 AS BIGINT[])) AS "item", …) SELECT … FROM q …

A few rows are quicker given with the execution of a prepared query than put into a table first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from tidings.engine.sql import layout
from tidings.engine.sql.literals import literal
from tidings.engine.sql.quoting import quoted
from tidings.ir import types
from tidings.ir.relation import Column

DIALECT = "duckdb"


def is_listable(type: str) -> bool:
    """Whether the values of a type can be given in a list."""
    return type in types.EXACT or type in ("float", "double") or type.startswith("decimal")


def over_lists(text: str, inputs: Mapping[str, tuple[Column, ...]]) -> str:
    """A query over inputs of some names, with parameters for their columns in this order.

    >>> print(over_lists("FROM q", {"q": (Column("item", "bigint"), Column("name", "string"))}))
    WITH q AS (
      SELECT
        unnest(CAST($list_0 AS BIGINT[])) AS "item",
        unnest(CAST($list_1 AS TEXT[])) AS "name"
    )
    SELECT * FROM (
      FROM q
    )
    """
    named: dict[str, layout.Lines] = {}
    number = 0
    for table, columns in inputs.items():
        lists = []
        for column in columns:
            name = quoted(column.name, "duckdb")
            lists.append(f"unnest(CAST(${parameter(number)} AS {_list_type(column.type)})) AS {name}")
            number += 1
        named[table] = ("SELECT", layout.listed(lists))
    query = layout.enclosed("SELECT * FROM ", tuple(text.splitlines()))
    return layout.text(layout.with_named(named, query))


def parameter(number: int) -> str:
    """The name of the parameter for one of the columns."""
    return f"list_{number}"


def list_of(values: pa.ChunkedArray, type: str) -> str:
    """The values of a column.

    >>> list_of(pa.chunked_array([[1, None]]), "int")
    'CAST([1, NULL] AS INT[])'
    """
    items = ", ".join("NULL" if value is None else _item(value, type) for value in values.to_pylist())
    return f"CAST([{items}] AS {_list_type(type)})"


def _item(value: Any, type: str) -> str:
    """A value as an item of a list that is cast as a whole."""
    if type in types.INTEGRAL or type == "boolean":
        return str(value)
    if type == "string":
        return literal(value, type, DIALECT)
    return f"'{value:f}'" if type.startswith("decimal") else f"'{value}'"


@lru_cache(maxsize=4096)
def _list_type(type: str) -> str:
    return f"{types.parse(type).sql(DIALECT)}[]"

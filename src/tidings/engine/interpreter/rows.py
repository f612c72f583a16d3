"""Arrow tables as rows and back; dates and timestamps are numbers in rows, for Python does not have all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidings.engine.interpreter.values import LeftToEngine, Row
from tidings.ir import types
from tidings.ir.relation import Column

_AS_NUMBERS = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}


def has_rows(type: str) -> bool:
    """Whether rows may have values of a type."""
    return type in types.EXACT or type in ("float", "double") or types.decimal(type) is not None


def rows_of(table: pa.Table, columns: Sequence[Column]) -> list[Row]:
    """Some columns of a table as rows.

    >>> rows_of(pa.table({"a": [1, 2], "b": ["x", None]}), (Column("b", "string"), Column("a", "bigint")))
    [('x', 1), (None, 2)]
    """
    return list(zip(*(_values(table.column(c.name), c.type) for c in columns), strict=True))


def _values(column: pa.ChunkedArray, type: str) -> list[Any]:
    number = _AS_NUMBERS.get(type)
    values: list[Any] = (column if number is None else column.cast(number)).to_pylist()
    return values


def table_of(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Rows as a table."""
    if not rows:
        return schema.empty_table()
    try:
        arrays = [pa.array(values, f.type) for values, f in zip(zip(*rows, strict=True), schema, strict=True)]
    except (pa.ArrowInvalid, OverflowError):
        raise LeftToEngine("a value that does not fit") from None
    return pa.Table.from_arrays(arrays, schema=schema)

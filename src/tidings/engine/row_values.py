"""Rows and columns in a form that can be compared, hashed and grouped as SQL compares values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def row_keys(rows: pa.Table) -> list[Any]:
    """Each row as a value that can be compared and hashed."""
    if not rows.num_columns:
        return [()] * rows.num_rows
    return list(zip(*(map(hashable, c.to_pylist()) for c in rows.columns), strict=True))


def hashable(value: Any) -> Any:
    """A value that equals another exactly when the two are the same SQL value.

    >>> hashable([1, {"a": float("nan")}]) == hashable([1, {"a": float("nan")}])
    True
    """
    match value:
        case list() | tuple():
            return tuple(map(hashable, value))
        case dict():
            return tuple((k, hashable(v)) for k, v in value.items())
        case float() if value != value:
            return "NaN"
        case _:
            return value


def groupable(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column that Arrow groups as SQL does: the values of nested types numbered, one NaN, one zero.

    >>> groupable(pa.chunked_array([[0.0, -0.0, None]])).to_pylist()
    [0.0, 0.0, None]
    """
    if pa.types.is_nested(column.type):
        numbers: dict[Any, int] = {}
        return pa.array((numbers.setdefault(hashable(v), len(numbers)) for v in column.to_pylist()), pa.int64())
    if pa.types.is_floating(column.type):
        nan, zero = pa.scalar(float("nan"), column.type), pa.scalar(0.0, column.type)
        return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))
    return column

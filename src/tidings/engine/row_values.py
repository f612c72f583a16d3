"""Rows as Python values that can be compared and hashed, as SQL compares them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


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

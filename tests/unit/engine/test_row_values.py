"""Rows as values that can be compared and hashed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings.engine.row_values import hashable, row_keys


@pytest.mark.parametrize(
    "value",
    [
        1,
        None,
        "x",
        float("nan"),
        [1, [2, None]],
        {"a": [1], "b": {"c": float("nan")}},
        [("k", [1, 2]), ("l", None)],
        [{"a": 1}],
        b"\x00",
    ],
)
def test_equal_values_are_equal_keys(value: Any) -> None:
    assert hashable(value) == hashable(value)
    assert isinstance(hash(hashable(value)), int)


def test_different_values_are_different_keys() -> None:
    assert hashable([1, 2]) != hashable([2, 1])
    assert hashable({"a": None}) != hashable({"a": 0})
    assert hashable([[1], [2]]) != hashable([[1, 2]])


def test_rows_without_columns_are_all_alike() -> None:
    rows = pa.table({"x": [1, 2]}).select([])
    assert row_keys(rows) == [()] * rows.num_rows

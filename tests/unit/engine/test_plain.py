"""Changes as plain rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings.engine.plain import expanded, hashable, row_keys


def changes(*entries: tuple[str, int]) -> pa.Table:
    rows = [{"x": x, "__t": n, "__w": w} for n, (x, w) in enumerate(entries)]
    schema = pa.schema([("x", pa.string()), ("__t", pa.int64()), ("__w", pa.int64())])
    return pa.Table.from_pylist(rows, schema=schema)


def plain(*entries: tuple[str, int], net: bool) -> tuple[list[str], list[str]]:
    came, went = expanded(changes(*entries), net=net)
    return came.column("x").to_pylist(), went.column("x").to_pylist()


def test_rows_as_often_as_they_weigh() -> None:
    assert plain(("a", 2), ("b", 1), net=True) == (["a", "a", "b"], [])
    assert plain(("a", 2), ("a", -1), ("b", 1), ("b", -1), net=True) == (["a"], [])


def test_rows_of_the_base_can_go() -> None:
    assert plain(("a", -2), ("b", 1), net=False) == (["b"], ["a", "a"])


def test_without_a_base_no_row_can_be_missing() -> None:
    with pytest.raises(ValueError, match="never had"):
        plain(("a", -1), net=True)


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

"""Changes as plain rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings.engine.plain_rows import plain_rows, separating_column
from tidings.ir.relation import Column


def changes(*entries: tuple[str, int]) -> pa.Table:
    rows = [{"x": x, "__t": n, "__w": w} for n, (x, w) in enumerate(entries)]
    schema = pa.schema([("x", pa.string()), ("__t", pa.int64()), ("__w", pa.int64())])
    return pa.Table.from_pylist(rows, schema=schema)


def plain(*entries: tuple[str, int], has_base: bool) -> tuple[list[str], list[str]]:
    came, went = plain_rows(changes(*entries), has_base=has_base)
    return came.column("x").to_pylist(), went.column("x").to_pylist()


def test_rows_as_often_as_they_weigh() -> None:
    assert plain(("a", 2), ("b", 1), has_base=False) == (["a", "a", "b"], [])
    assert plain(("a", 2), ("a", -1), ("b", 1), ("b", -1), has_base=False) == (["a"], [])


def test_rows_of_the_base_can_go() -> None:
    assert plain(("a", -2), ("b", 1), has_base=True) == (["b"], ["a", "a"])


def test_without_a_base_no_row_can_be_missing() -> None:
    with pytest.raises(ValueError, match="never had"):
        plain(("a", -1), has_base=False)


def test_a_column_without_nulls_separates_what_went() -> None:
    columns = (Column("flag", "boolean"), Column("a", "int"), Column("b", "string"))
    rows = pa.table({"flag": [True], "a": pa.array([None], pa.int32()), "b": ["x"]})
    assert separating_column(rows, columns) == columns[2]
    assert separating_column(rows, columns[:2]) is None

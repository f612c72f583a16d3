"""Adding up rows with Arrow's kernels gives what going through them one by one gives."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.engine import changes
from tidings.engine.changes import added_up, versioned
from tidings.engine.plain_rows import plain_rows
from tidings.engine.row_values import row_keys
from tidings.ir.relation import Column

(OTHER_NAN,) = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "bigint": (pa.int64(), [None, 0, 1, -(2**63)]),
    "boolean": (pa.bool_(), [None, True, False]),
    "double": (pa.float64(), [None, 0.0, -0.0, float("nan"), OTHER_NAN, float("inf"), 1.5]),
    "float": (pa.float32(), [None, 0.0, -0.0, float("nan"), 0.1]),
    "decimal(10,2)": (pa.decimal128(10, 2), [None, Decimal("0.00"), Decimal("-1.50")]),
    "string": (pa.string(), [None, "", "NaN", "a", "a "]),
    "binary": (pa.binary(), [None, b"", b"\0"]),
    "date": (pa.date32(), [None, date(1, 1, 1), date(2026, 1, 1)]),
    "timestamp_ntz": (pa.timestamp("us"), [None, datetime(2026, 1, 1)]),
    "array<double>": (pa.list_(pa.float64()), [None, [], [None], [0.0], [-0.0], [float("nan")]]),
    "struct<a:bigint>": (pa.struct([("a", pa.int64())]), [None, {"a": None}, {"a": 1}]),
    "map<string,bigint>": (pa.map_(pa.string(), pa.int64()), [None, [], [("a", 1)], [("a", None)]]),
    "void": (pa.null(), [None]),
}


@pytest.fixture(autouse=True, scope="module")
def no_rows_are_few() -> Any:
    """Let Arrow add up even a single row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes, "_FEW", -1)
        yield


@st.composite
def bags(draw: Callable[..., Any]) -> tuple[tuple[Column, ...], pa.Table, list[int]]:
    """Columns, rows in one or two pieces, and a weight for each."""
    types = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    columns = tuple(Column(f"c{n}", type) for n, type in enumerate(types))
    size = draw(st.integers(0, 12))
    arrays = {}
    for column in columns:
        type, values = VALUES[column.type]
        arrays[column.name] = pa.array(draw(st.lists(st.sampled_from(values), min_size=size, max_size=size)), type)
    rows, cut = pa.table(arrays), draw(st.integers(0, size))
    weights = draw(st.lists(st.integers(-2, 2), min_size=size, max_size=size))
    return columns, pa.concat_tables([rows.slice(0, cut), rows.slice(cut)]), weights


def one_by_one(rows: pa.Table, weights: list[int]) -> list[tuple[int, int]]:
    """The first place of each row whose weights do not cancel, and what they add up to."""
    found: dict[Any, tuple[int, int]] = {}
    for place, (row, weight) in enumerate(zip(row_keys(rows), weights, strict=True)):
        first, total = found.get(row, (place, 0))
        found[row] = first, total + weight
    return [(first, total) for first, total in found.values() if total]


@given(bags())
def test_rows_are_added_up_as_one_by_one(bag: tuple[tuple[Column, ...], pa.Table, list[int]]) -> None:
    _, rows, weights = bag
    places, totals = added_up(rows, weights)
    assert list(zip(places.to_pylist(), totals.to_pylist(), strict=True)) == one_by_one(rows, weights)


@given(bags())
def test_plain_rows_are_the_net(bag: tuple[tuple[Column, ...], pa.Table, list[int]]) -> None:
    _, rows, weights = bag
    came, went = plain_rows(versioned(rows, 0, weights), has_base=True)
    keys, net = row_keys(rows), one_by_one(rows, weights)
    assert row_keys(went) == [keys[place] for place, total in net for _ in range(-total)]
    if min(weights, default=0) < 0:
        assert row_keys(came) == [keys[place] for place, total in net for _ in range(total)]
    else:
        assert row_keys(came) == [key for key, weight in zip(keys, weights, strict=True) for _ in range(weight)]

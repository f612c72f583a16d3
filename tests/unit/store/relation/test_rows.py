"""Rows as users give them: every form that is read, every row that is not."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tidings.errors import InvalidRow
from tidings.ir.relation import Column
from tidings.store.relation.rows import read_rows

COLUMNS = (Column("Item", "bigint"), Column("name", "string"), Column("price", "decimal(6,2)"))
ROW = {"Item": 1, "name": "a", "price": Decimal("1.50")}


def read(data: Any, *columns: Column) -> list[dict[str, Any]]:
    return list(read_rows("stock", columns or COLUMNS, data).to_pylist())


def refused(data: Any, *columns: Column) -> InvalidRow:
    with pytest.raises(InvalidRow) as caught:
        read(data, *columns)
    assert caught.value.parameters["table"] == "stock"
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        [ROW],
        [{"ITEM": 1, "NAME": "a", "Price": Decimal("1.5")}],
        [(1, "a", Decimal("1.5"))],
        [[1, "a", Decimal("1.5")]],
        iter([ROW]),
        pa.Table.from_pylist([ROW]),
        pa.RecordBatch.from_pylist([ROW]),
        pd.DataFrame([ROW]),
    ],
    ids=["dict", "dict in other case", "tuple", "list", "iterator", "arrow", "batch", "pandas"],
)
def test_forms(data: Any) -> None:
    assert read(data) == [ROW]


def test_what_is_not_given_is_null() -> None:
    assert read([{"item": 1}, {}]) == [
        {"Item": 1, "name": None, "price": None},
        {"Item": None, "name": None, "price": None},
    ]


def test_decimals_are_rounded_half_up() -> None:
    assert [row["price"] for row in read([{"price": Decimal("1.235")}, {"price": -0.125}])] == [
        Decimal("1.24"),
        Decimal("-0.13"),
    ]


def test_no_rows() -> None:
    assert read([]) == []


@pytest.mark.parametrize(
    ("data", "row", "fragments"),
    [
        ([ROW, {**ROW, "nam": "x"}], 2, ["nam"]),
        ([(1, "a")], 1, ["2 values", "3 columns"]),
        ([ROW, (1, "a", Decimal(1), 4)], 2, ["4 values"]),
        (["text"], 1, ["'text'"]),
        ([ROW, 7], 2, ["7"]),
        ([ROW, None], 2, ["None"]),
        ([ROW, ROW, {**ROW, "Item": "x"}], 3, ["Item", "bigint", "'x'"]),
        ([{**ROW, "Item": 2**63}], 1, ["Item", "bigint", str(2**63)]),
        ([{**ROW, "Item": 1.5}], 1, ["Item", "1.5"]),
        ([{**ROW, "name": 3}], 1, ["name", "string", "3"]),
        ([{**ROW, "price": Decimal("12345.67")}], 1, ["price", "decimal(6,2)"]),
        ([{**ROW, "price": Decimal("NaN")}], 1, ["price", "NaN"]),
        ([{**ROW, "price": "cheap"}], 1, ["price", "'cheap'"]),
    ],
)
def test_bad_rows_are_named(data: list[Any], row: int, fragments: list[str]) -> None:
    error = refused(data)
    assert error.parameters["row"] == row
    for fragment in fragments:
        assert fragment in str(error.parameters["reason"])


def test_what_gives_the_rows_may_fail() -> None:
    error = refused(ROW if n < 2 else {"Item": 1 // 0} for n in range(3))
    assert error.parameters["row"] == 3
    assert "ZeroDivisionError" in str(error.parameters["reason"])
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_an_unknown_column_is_guessed() -> None:
    assert refused([{"nmae": "x"}]).hint == "did you mean name?"


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("boolean", True),
        ("tinyint", -128),
        ("float", 0.5),
        ("double", math.inf),
        ("date", date(2026, 1, 1)),
        ("timestamp_ntz", datetime(2026, 1, 1, 12)),
        ("binary", b"\x00\xff"),
        ("array<int>", [1, None]),
        ("struct<a:int,b:array<string>>", {"a": 1, "b": ["x"]}),
        ("void", None),
    ],
)
def test_values_of_every_type(type: str, value: Any) -> None:
    assert read([{"x": value}], Column("x", type)) == [{"x": value}]


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("boolean", "yes"),
        ("tinyint", 128),
        ("int", True),
        ("int", 2**31),
        ("date", "2026-01-01"),
        ("array<int>", 1),
        ("array<int>", ["x"]),
        ("struct<a:int>", {"a": "x"}),
        ("binary", 5),
    ],
)
def test_values_of_another_type(type: str, value: Any) -> None:
    error = refused([{"x": None}, {"x": value}], Column("x", type))
    assert error.parameters["row"] == 2
    assert type in str(error.parameters["reason"])


def test_arrow_of_another_type_is_checked_too() -> None:
    assert refused(pa.table({"item": ["x"], "name": ["a"], "price": [Decimal(1)]})).parameters["row"] == 1


def test_a_whole_input_that_is_no_rows() -> None:
    refused(7)

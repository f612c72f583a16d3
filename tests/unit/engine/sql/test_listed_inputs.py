"""What is given to a query in lists arrives as it was."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_type
from tidings.engine.duckdb import PreparedQueries
from tidings.engine.sql.listed_inputs import is_listable, list_of, over_lists, parameter
from tidings.ir.relation import Column

VALUES: dict[str, list[Any]] = {
    "tinyint": [-128, 127],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1, 0],
    "boolean": [True, False],
    "string": ["", "it's", 'a"b', "a\\b", "\0", "x\0y", "$list_0", "é\n☃", "NULL", "[1, 2]"],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)],
    "timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 1)],
    "decimal(38,18)": [Decimal("1e-18"), Decimal("-99999999999999999999.999999999999999999"), Decimal(0)],
    "decimal(4,0)": [Decimal(9999), Decimal(-1)],
    "double": [math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1],
    "float": [math.inf, 1.5, 1.401298464324817e-45],
}


@pytest.mark.parametrize("type", VALUES)
def test_values_arrive_as_they_were(type: str) -> None:
    queries, column = PreparedQueries(), Column('odd "name', type)
    text = over_lists('SELECT "odd ""name" FROM input', {"input": (column,)})
    try:
        for values in (VALUES[type], [None], [], [None, *VALUES[type], None]):
            array = pa.chunked_array([pa.array(values, arrow_type(type))])
            rows = queries.fetch(text, {parameter(0): list_of(array, type)})
            assert [repr(v) for v in rows.column(0).to_pylist()] == [repr(v) for v in array.to_pylist()]
    finally:
        queries.close()


def test_nan_is_nan() -> None:
    queries = PreparedQueries()
    text = over_lists("SELECT x FROM input", {"input": (Column("x", "double"),)})
    rows = queries.fetch(text, {parameter(0): list_of(pa.chunked_array([[math.nan]]), "double")})
    assert math.isnan(rows.column(0)[0].as_py())
    queries.close()


def test_nested_values_are_not_listed() -> None:
    assert all(map(is_listable, VALUES))
    assert not any(map(is_listable, ("array<int>", "struct<a:int>", "binary", "void", "map<string,int>")))

"""Keys as SQL text: what is quoted comes back as the same value on the engine."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_type
from tidings.engine.literals import literals

VALUES: list[tuple[str, list[Any]]] = [
    ("int", [0, -1, 2147483647, -2147483648]),
    ("bigint", [9223372036854775807]),
    ("boolean", [True, False]),
    (
        "string",
        ["", "a'b", "a''b", "\\", "\\'", "line\nbreak", "tab\t", "ünï", "%s", "`", '"', "__keys_0__", "--", "\x00"],
    ),
    ("date", [date(1970, 1, 1), date(2026, 2, 28)]),
    ("timestamp", [datetime(2026, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)]),
]


@pytest.mark.parametrize(("type", "values"), VALUES)
def test_values_come_back_on_duckdb(type: str, values: list[Any]) -> None:
    connection = duckdb.connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    for value in values:
        text = literals(pa.chunked_array([[value]], arrow_type(type)), type, "duckdb")
        found = connection.execute(f"SELECT {text} AS x").to_arrow_table().column(0).cast(arrow_type(type))
        assert found.to_pylist() == [value]
    connection.close()


def test_nulls_are_left_out() -> None:
    assert literals(pa.chunked_array([[1, None, 2]]), "int", "spark") == "1, 2"


@pytest.mark.parametrize("values", [[], [None]])
def test_no_keys_is_an_empty_list(values: list[Any]) -> None:
    assert literals(pa.chunked_array([pa.array(values, pa.int32())]), "int", "spark") == "NULL"


def test_spark_escapes() -> None:
    assert literals(pa.chunked_array([["a'b\\c"]]), "string", "spark") == r"'a\'b\\c'"

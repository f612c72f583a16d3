"""Keys as SQL text: what is quoted comes back as the same value on the engine."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_type
from tidings.engine.sql.literals import among, literals, within

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


@pytest.mark.parametrize("type", ["bigint", "string", "date"])
@pytest.mark.parametrize("number", [0, 1, 10, 11, 137])
def test_a_tree_of_ranges_holds_for_the_keys_alone(type: str, number: int) -> None:
    days = [date(2020, 1, 1) + timedelta(days=n) for n in range(400)]
    values: dict[str, list[Any]] = {"bigint": list(range(400)), "string": [f"é{n}'" for n in range(400)], "date": days}
    every = values[type]
    chosen = Random(number).sample(every, number)
    test = among("x", pa.array([*chosen, None], arrow_type(type)), type, "duckdb", halves=True)
    connection = duckdb.connect(":memory:")
    connection.register("r", pa.table({"x": pa.array([*every, None], arrow_type(type))}))
    found = connection.execute(f"SELECT x FROM r WHERE {test}").fetchall()
    connection.close()
    assert sorted(row[0] for row in found) == sorted(chosen)
    assert ("<" in test) == (number > 10)


def test_ranges_of_texts_part_where_the_texts_are_far_apart() -> None:
    """One key that is nothing like the others does not let the first range reach to it."""
    texts = ["", *(f"<{n}@x>" for n in range(5_000, 5_400)), *(f"<{n}@x>" for n in range(9_000, 9_400))]
    test = within("x", pa.array(texts), "string", "spark")
    assert "(x >= '' AND x <= '')" in test
    assert "x <= '<5399@x>')" in test
    assert "(x >= '<9000@x>'" in test


@pytest.mark.parametrize("type", ["bigint", "string", "date"])
@pytest.mark.parametrize("number", [1, 2, 31, 100, 399])
def test_ranges_hold_for_all_keys_and_not_for_all_values(type: str, number: int) -> None:
    days = [date(2020, 1, 1) + timedelta(days=n) for n in range(400)]
    values: dict[str, list[Any]] = {"bigint": list(range(400)), "string": [f"é{n}'" for n in range(400)], "date": days}
    every = values[type]
    chosen = sorted(Random(number).sample(every, number))[: max(1, number // 2)]
    test = within("x", pa.array([*chosen, None], arrow_type(type)), type, "duckdb")
    connection = duckdb.connect(":memory:")
    connection.register("r", pa.table({"x": pa.array([*every, None], arrow_type(type))}))
    found = {row[0] for row in connection.execute(f"SELECT x FROM r WHERE {test}").fetchall()}
    connection.close()
    assert found >= set(chosen)
    assert len(found) < 350
    assert test.count(">=") <= 32

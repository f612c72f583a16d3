"""Values of expressions over a few rows, in this process or by the engine."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tidings.constraints.evaluate import Evaluator
from tidings.engine.agreed.row import agreed
from tidings.engine.duckdb import DuckDB
from tidings.engine.run import Runner
from tidings.errors import InvalidExpression, SparkNeeded
from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed

COLUMNS = (Column("x", "int"), Column("s", "string"))
ROWS = pa.table({"x": pa.array([1, None, 5], pa.int32()), "s": ["a", "é", "B"]})


@pytest.fixture
def evaluator() -> Evaluator:
    return Evaluator(Runner(DuckDB()))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("x > 2", [False, None, True]), ("T.x IS NOT NULL", [True, False, True]), ("x / 2 > 2", [False, None, True])],
)
def test_a_condition_over_rows(evaluator: Evaluator, condition: str, expected: list[bool | None]) -> None:
    assert evaluator.holds("t", COLUMNS, condition, ROWS) == expected


def test_texts_that_are_not_ascii_are_left_to_the_engine(evaluator: Evaluator) -> None:
    with pytest.raises(SparkNeeded):
        evaluator.holds("t", COLUMNS, "upper(s) = 'A'", ROWS)


@pytest.mark.parametrize("condition", ["x + 1", "x > (SELECT max(x) FROM t)"])
def test_a_check_is_a_condition_over_one_row(evaluator: Evaluator, condition: str) -> None:
    with pytest.raises(InvalidExpression):
        evaluator.check("t", COLUMNS, parsed(condition), condition)


def test_constants_have_the_type_that_is_asked_for(evaluator: Evaluator) -> None:
    assert evaluator.constant(parsed("1 + 1"), "decimal(4,2)", "1 + 1") == Decimal("2.00")
    assert evaluator.constant(parsed("NULL"), "date", "NULL") is None


def test_a_default_that_reads_the_clock_is_computed_anew(evaluator: Evaluator) -> None:
    first, second = (evaluator.default("current_timestamp()", "timestamp", now) for now in (0, 1_000_000))
    assert (first, second) == (datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))


SOME_COLUMNS = (Column("i", "int"), Column("s", "string"))


def values(text: str, type: str, rows: pa.Table) -> list[Any] | None:
    expression = agreed(parsed(text), SOME_COLUMNS)
    assert expression is not None
    answer = Evaluator(Runner(DuckDB())).values([(expression, type)], rows)
    return None if answer is None else answer.column(0).to_pylist()


def test_values_are_in_the_order_of_the_rows() -> None:
    rows = pa.table({"i": pa.array([3, None, 1, 3], pa.int32())})
    assert values("i * 2", "bigint", rows) == [6, None, 2, 6]


def test_what_fails_is_left_to_the_engine() -> None:
    assert values("i * i", "int", pa.table({"i": pa.array([1 << 20], pa.int32())})) is None
    assert values("i", "tinyint", pa.table({"i": pa.array([300], pa.int32())})) is None


def test_letters_that_are_not_ascii_are_left_to_the_engine() -> None:
    rows = pa.table({"s": ["straße", "x"]})
    assert values("upper(s)", "string", rows) is None
    assert values("length(s)", "int", rows) == [6, 1]
    assert values("upper(s)", "string", pa.table({"s": ["x", None]})) == ["X", None]

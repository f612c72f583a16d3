"""Arithmetic in DuckDB's words, held against Python's exact decimals."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from random import Random

import pyarrow as pa
import pytest

from tidings.engine.agreed.row import ROWS, agreed
from tidings.engine.duckdb import DuckDB
from tidings.engine.sql.row_queries import values_query
from tidings.errors import EngineFailed
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
COLUMNS = (Column("a", "decimal(17,2)"), Column("b", "decimal(12,3)"), Column("i", "int"))
ENGINE = DuckDB()


def values(text: str, rows: list[tuple[str, str, int]]) -> tuple[str, list[object]]:
    """The type of an expression, and its value for each row."""
    found = agreed(parsed(text), COLUMNS)
    assert found is not None
    a, b, i = zip(*rows, strict=True)
    table = pa.table(
        {
            "a": pa.array(a, pa.string()).cast(pa.decimal128(17, 2)),
            "b": pa.array(b, pa.string()).cast(pa.decimal128(12, 3)),
            "i": pa.array(i, pa.int32()),
        }
    )
    query = values_query("some", ROWS, [(found.expression, found.type)])
    return found.type, ENGINE.over("some", table, query).column(0).to_pylist()


def random_rows(size: int) -> list[tuple[str, str, int]]:
    rng = Random(7)
    digits = [rng.choice((1, 3, 9, 15)) for _ in range(size)]
    pairs = ((rng.randrange(-(10**n), 10**n), rng.randrange(1, 10 ** min(n, 12)) * rng.choice((1, -1))) for n in digits)
    return [(f"{Decimal(x).scaleb(-2):f}", f"{Decimal(y).scaleb(-3):f}", rng.randrange(1, 99)) for x, y in pairs]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("a / b", lambda a, b, i: EXACT.divide(a, b)),
        ("a / i", lambda a, b, i: EXACT.divide(a, Decimal(i))),
        ("i / a", lambda a, b, i: EXACT.divide(Decimal(i), a) if a else None),
        ("a * b", lambda a, b, i: a * b),
        ("a + b", lambda a, b, i: a + b),
        ("b - a", lambda a, b, i: b - a),
        ("a / 7.0 * 100", lambda a, b, i: EXACT.divide(a, Decimal(7)).quantize(Decimal("1e-6"), context=EXACT) * 100),
        ("round(b, 1)", lambda a, b, i: b),
    ],
)
def test_decimals_are_rounded_half_away_from_zero(text: str, exact: object) -> None:
    rows = [row for row in random_rows(300) if text != "i / a" or Decimal(row[0])]
    type, answers = values(text, rows)
    digits = types.decimal(type)
    assert digits is not None
    assert callable(exact)
    for (a, b, i), answer in zip(rows, answers, strict=True):
        expected = exact(Decimal(a), Decimal(b), i).quantize(Decimal(1).scaleb(-digits[1]), context=EXACT)
        assert answer == expected, (a, b, i)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a / (b - b)", ("1.00", "1.000", 1)),
        ("i / 0", ("1.00", "1.000", 1)),
        ("i % (i - i)", ("1.00", "1.000", 1)),
        ("i DIV 0", ("1.00", "1.000", 1)),
        ("i + 1", ("1.00", "1.000", 2147483647)),
        ("-i", ("1.00", "1.000", -2147483648)),
        ("CAST(i AS TINYINT)", ("1.00", "1.000", 128)),
        ("CAST(a AS DECIMAL(4,2))", ("100.00", "1.000", 1)),
        ("2147483647 + i", ("1.00", "1.000", 1)),
    ],
)
def test_what_spark_refuses_is_an_error(text: str, row: tuple[str, str, int]) -> None:
    with pytest.raises(EngineFailed):
        values(text, [row])

"""Expressions in Python say what DuckDB says of them, for awkward values too, or leave it to DuckDB."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from tests.laws.agreed_expressions import expression
from tests.laws.seeds import chunks
from tests.spark.both_engines import RAISED, comparable, evaluated
from tests.unit.engine.agreed.awkward import COLUMNS, EXPRESSIONS, rows
from tidings.engine.agreed.row import ROWS, agreed
from tidings.engine.arrow import arrow_type
from tidings.engine.duckdb import DuckDB
from tidings.engine.interpreter import LeftToEngine, NotInterpreted
from tidings.engine.interpreter.expression import Compiler
from tidings.engine.interpreter.rows import has_rows, rows_of
from tidings.engine.interpreter.values import column, converted
from tidings.ir.expression import read
from tidings.lang.sql.parse import parsed

LEFT = "left to the engine"
BRANCHES = (exp.And, exp.Or, exp.Case, exp.If, exp.Coalesce, exp.Between, exp.In)
"""Where an error may be raised or not, in what is not needed."""
KNOWN = tuple(c for c in COLUMNS if has_rows(c.type))
TABLE = rows(60)

MORE = [
    *[
        "i = j",
        "i <> j",
        "i < b",
        "t >= i",
        "d = e",
        "d < w",
        "w = w",
        "i > d",
        "s = x",
        "s < x",
        "day <= due",
        "p = r",
    ],
    *["i <=> j", "s <=> x", "NOT i <=> b", "i IN (1, 5, NULL)", "s IN ('a', 'abc')", "s NOT IN ('a', NULL)"],
    *["i + j", "i - b", "i * j", "i * 2 - 1", "t + 100", "i % 3", "b % i", "-i", "abs(t)", "abs(b)", "-(-i)"],
    *["p AND r", "p OR r", "NOT (p AND NOT r)", "i > 0 AND 7 % i = 1", "i BETWEEN -1 AND j", "day > DATE '2000-01-01'"],
    *["CASE WHEN i > 0 THEN s WHEN p THEN x END", "if(i IS NULL, 0, i + 1)", "coalesce(i, j, 3)", "coalesce(b, i)"],
    *[
        "CAST(i AS BIGINT) * b",
        "CAST(b AS INT)",
        "CAST(i AS TINYINT)",
        "CAST(i AS DECIMAL(38, 0))",
        "d > 2.5",
        "i < 2.5",
    ],
    *["d IS NULL OR f IS NOT NULL", "coalesce(d, 0)", "if(p, day, due)", "at IS NULL", "i", "s", "d", "f", "day", "at"],
]
"""Of the kinds that are known."""


def interpreted(text: str, table: pa.Table = TABLE) -> list[Any] | None:
    """The value of an expression for each row; None if it is not known."""
    agreed_on = agreed(parsed(text), COLUMNS)
    assert agreed_on is not None
    compiler = Compiler({(ROWS, c.name): column(n, c.type) for n, c in enumerate(KNOWN)})
    type = "string" if agreed_on.type == "void" else agreed_on.type
    try:
        value = converted(compiler.value(agreed_on.expression), type)
    except NotInterpreted:
        return None
    found: list[Any] = []
    for row in rows_of(table, KNOWN):
        try:
            found += comparable(pa.chunked_array([pa.array([value(row)], arrow_type(type))]))
        except LeftToEngine:
            found.append(LEFT)
    return found


def differences(text: str, engine: DuckDB) -> list[str] | None:
    """Where Python and DuckDB differ; None if the expression is not known in Python."""
    ours, theirs = interpreted(text), evaluated(text, TABLE, engine)
    if ours is None or theirs is None:
        return None
    tolerated = {LEFT, RAISED} if parsed(text).find(*BRANCHES) else {LEFT}
    pairs = [(one, other) for one, other in zip(ours, theirs.values, strict=True) if one != other]
    return [f"{text}: {one!r}, DuckDB {other!r}" for one, other in pairs if one != LEFT and other not in tolerated]


@pytest.mark.parametrize("text", MORE)
def test_known_expressions(text: str) -> None:
    assert differences(text, DuckDB()) == []


def test_agreed_expressions() -> None:
    """All expressions on which the engines agree; some of them are known here."""
    engine, known = DuckDB(), 0
    for text in EXPRESSIONS:
        found = differences(text, engine)
        known += found is not None
        assert not found
    assert known > 60


@pytest.mark.parametrize("seeds", chunks(300, quick=30, size=30))
def test_random_expressions(seeds: range) -> None:
    engine = DuckDB()
    known = [found for seed in seeds if (found := differences(expression(Random(seed)), engine)) is not None]
    assert [line for found in known for line in found] == []


@pytest.mark.parametrize("text", ["i + j", "i * b", "b - i", "-b", "abs(i)", "i % j", "CAST(b AS INT)"])
def test_what_does_not_fit_is_left_to_the_engine(text: str) -> None:
    ours, theirs = interpreted(text), evaluated(text, TABLE, DuckDB())
    assert ours is not None
    assert theirs is not None
    assert RAISED in theirs.values
    assert all(one == LEFT for one, other in zip(ours, theirs.values, strict=True) if other == RAISED)


@pytest.mark.parametrize(
    "text", ["r.f > 1", "r.f + 1", "r.d * r.d", "upper(r.s)", "r.i = r.s", "r.s AND r.p", "r.nothing"]
)
def test_what_is_not_known(text: str) -> None:
    compiler = Compiler({("r", c.name): column(n, c.type) for n, c in enumerate(KNOWN)})
    with pytest.raises(NotInterpreted):
        compiler.value(read(text))

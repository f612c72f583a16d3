"""Expressions in DuckDB's words, as text."""

from __future__ import annotations

import pytest

from tidings.engine.agreed.expression import Translator
from tidings.engine.sql.scalar import scalar
from tidings.ir.expression import read

TYPES = {"i": "int", "t": "tinyint", "d": "decimal(10,2)", "s": "string", "p": "boolean", "day": "date"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("r.p AND (r.p OR r.i = 1)", "r.p AND (r.p OR (r.i = 1))"),
        ("NOT (r.p AND r.p)", "NOT (r.p AND r.p)"),
        ("r.t + r.i", "(CAST(r.t AS INTEGER)) + r.i"),
        ("r.i + 1", "r.i + 1"),
        ("r.d > 1.5", "r.d > (CAST(1.5 AS DECIMAL(10,2)))"),
        ("r.day = '2024-02-29'", "r.day = CAST('2024-02-29' AS DATE)"),
        ("r.i BETWEEN 1 AND 2", "r.i >= 1 AND r.i <= 2"),
        ("CASE r.i WHEN 1 THEN r.s END", "CASE WHEN (r.i = 1) THEN r.s END"),
    ],
)
def test_words(text: str, words: str) -> None:
    term = Translator(lambda column: TYPES.get(column.name)).term(read(text))
    assert scalar(term.sql, "duckdb", True, {}).replace('"', "") == words

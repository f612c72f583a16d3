"""Which expressions may be evaluated in this process; tests/spark/test_agreed.py compares the engines on them."""

from __future__ import annotations

import pytest

from tidings.analysis.agreed_expression import agreed
from tidings.ir.relation import Column
from tidings.lang.sql.parse import parsed

COLUMNS = tuple(
    Column(name, type)
    for name, type in {
        "t": "tinyint",
        "i": "int",
        "b": "bigint",
        "d": "decimal(10,2)",
        "w": "decimal(30,2)",
        "s": "string",
        "x": "string",
        "f": "double",
        "p": "boolean",
        "day": "date",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "tags": "array<int>",
    }.items()
)

AGREED = [
    ("i", "int"),
    ("I + 1", "int"),
    ("-i * 2 - t", "int"),
    ("i * b", "bigint"),
    ("i > 2 AND NOT p", "boolean"),
    ("i = 1 OR NULL", "boolean"),
    ("i <=> NULL", "boolean"),
    ("i <> b", "boolean"),
    ("f IS NULL OR tags IS NOT NULL", "boolean"),
    ("i IN (1, NULL, 3)", "boolean"),
    ("NOT i IN (1, 3)", "boolean"),
    ("i BETWEEN -1 AND b", "boolean"),
    ("s BETWEEN 'a' AND x", "boolean"),
    ("d > 1.5", "boolean"),
    ("d = i", "boolean"),
    ("i > 1.5", "boolean"),
    ("d + 1", "decimal(12,2)"),
    ("d * 1.05", "decimal(8,2)"),
    ("d - d", "decimal(11,2)"),
    ("w", "decimal(30,2)"),
    ("w < d", "boolean"),
    ("w + w", "decimal(31,2)"),
    ("d * (1 - d) - d", "decimal(30,4)"),
    ("year(day) + month(at) - extract(day FROM day)", "int"),
    ("substring(s, 2, 1)", "string"),
    ("CASE WHEN i > 2 THEN 'big' WHEN i IS NULL THEN s END", "string"),
    ("CASE WHEN p THEN i ELSE b END", "bigint"),
    ("coalesce(s, x, 'none')", "string"),
    ("coalesce(i, 0) + coalesce(t, 0)", "int"),
    ("length(s)", "int"),
    ("upper(s)", "string"),
    ("lower(trim(x))", "string"),
    ("s LIKE 'a%_b'", "boolean"),
    ("NOT s LIKE '%'", "boolean"),
    ("s = x", "boolean"),
    ("s < x", "boolean"),
    ("p", "boolean"),
    ("p = TRUE", "boolean"),
    ("day >= DATE '2026-01-02'", "boolean"),
    ("at < TIMESTAMP '2026-01-02 03:04:05.678'", "boolean"),
    ("local = local", "boolean"),
    ("at + INTERVAL 28 DAYS", "timestamp"),
    ("at - INTERVAL '3' HOURS", "timestamp"),
    ("at < at + (INTERVAL 1 WEEK)", "boolean"),
    ("at + INTERVAL 90 MINUTES - INTERVAL 7 SECONDS", "timestamp"),
    ("UNIX_MICROS(at) + 1", "bigint"),
    ("NULL", "string"),
    ("i < 1 + 10", "boolean"),
    ("CAST(p AS BOOLEAN)", "boolean"),
    ("f", "double"),
    ("f >= f", "boolean"),
    ("IF(i > 1, 'big', s)", "string"),
    ("CAST(i AS BIGINT) * 3000000000", "bigint"),
    ("i % 3 + (-b) % 2", "bigint"),
    ("17 % 5", "int"),
    ("i + CAST(7 AS SMALLINT)", "int"),
]
"""Expressions, and types they are cast to; tests/spark compares the engines on each."""


@pytest.mark.parametrize(("text", "type"), AGREED)
def test_agreed(text: str, type: str) -> None:
    found = agreed(parsed(text), COLUMNS)
    assert found is not None
    assert found.fits(type)


@pytest.mark.parametrize(
    "text",
    [
        "i / 2",
        "i % 0",
        "i % t",
        "d % 2",
        "f > 1",
        "f + f",
        "1e3 > i",
        "'7' = i",
        "i = '7'",
        "s > day",
        "day > '2026-01-01'",
        "day + 1",
        "at - at",
        "at + INTERVAL 1 MONTH",
        "at + INTERVAL '-3' DAYS",
        "day + INTERVAL 1 DAY",
        "local + INTERVAL 1 DAY",
        "CAST(s AS INT)",
        "CAST('x' AS DATE)",
        "TRY_CAST('2026-01-01' AS DATE) = day",
        "2147483647 + 1",
        "w * d",
        "d * d * d * d",
        "substring(s, -1, 2)",
        "substring(s, i, 2)",
        "substring(s, 2)",
        "s || x",
        "s LIKE x",
        "s LIKE 'a\\\\%'",
        "s RLIKE 'a'",
        "s LIKE 'a' ESCAPE '!'",
        "trim(BOTH 'x' FROM s)",
        "upper(i)",
        "length(tags)",
        "tags[0]",
        "tags = tags",
        "i IN (SELECT 1)",
        "exists(SELECT 1)",
        "sum(i)",
        "now() > at",
        "rand() > 1",
        "CASE i WHEN 1 THEN 2 END",
        "CASE WHEN p THEN i ELSE s END",
        "coalesce(i, s)",
        "nosuch",
        "other.i",
        "i IS TRUE",
        "abs(i)",
        "a -> a",
    ],
)
def test_not_agreed(text: str) -> None:
    assert agreed(parsed(text), COLUMNS) is None


def test_a_row_goes_by_some_names() -> None:
    assert agreed(parsed("R.i = 1"), COLUMNS, frozenset({"r"})) is not None
    assert agreed(parsed("q.i = 1"), COLUMNS, frozenset({"r"})) is None


@pytest.mark.parametrize(
    ("text", "type"),
    [("d", "int"), ("d * 2", "bigint"), ("i", "string"), ("s", "int"), ("p", "int"), ("i", "double"), ("at", "date")],
)
def test_casts_that_are_left_to_the_engine(text: str, type: str) -> None:
    found = agreed(parsed(text), COLUMNS)
    assert found is not None
    assert not found.fits(type)

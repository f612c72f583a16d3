"""Expressions on which both engines agree."""

from __future__ import annotations

import pytest

from tidings.analysis.agreement import Judge, constant_kind, kind_of
from tidings.ir.expression import read

TYPES = {"n": "int", "d": "decimal(10,2)", "s": "string", "b": "boolean", "at": "timestamp", "x": "double"}


def judge() -> Judge:
    return Judge(lambda column: TYPES.get(column.name))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("t.n + 1", "number"),
        ("t.d * 2", "number"),
        ("t.n > 1 AND NOT t.b", "boolean"),
        ("t.n IN (1, 2)", "boolean"),
        ("t.n BETWEEN 1 AND 2", "boolean"),
        ("t.x < t.x", "boolean"),
        ("t.s IS NULL", "boolean"),
        ("t.s LIKE 'a%'", "boolean"),
        ("LENGTH(t.s)", "number"),
        ("t.n % 3", "number"),
        ("COALESCE(t.n, 0)", "number"),
        ("CASE WHEN t.b THEN t.s ELSE 'x' END", "string"),
        ("IF(t.b, 1, 2)", "number"),
        ("t.at + INTERVAL 1 DAY", "timestamp"),
        ("YEAR(t.at)", "number"),
        ("SUBSTRING(t.s, 1, 2)", "string"),
    ],
)
def test_agreed(text: str, kind: str) -> None:
    assert judge().kind(read(text)) == kind


@pytest.mark.parametrize(
    "text",
    [
        "t.n / 2",
        "t.n % 0",
        "t.s = 7",
        "t.x + 1",
        "2147483647 + 1",
        "t.at + INTERVAL 1 MONTH",
        "SUBSTRING(t.s, 0, 2)",
        "nosuch(t.n)",
        "t.unknown",
    ],
)
def test_not_agreed(text: str) -> None:
    assert judge().kind(read(text)) is None


def test_functions_of_letters_are_agreed_for_ascii() -> None:
    letters = judge()
    assert letters.kind(read("UPPER(t.s)")) == "string"
    assert letters.ascii


def test_kinds_of_types_and_constants() -> None:
    assert [kind_of(t) for t in ("int", "decimal(5,1)", "double", "binary")] == ["number", "number", "floating", None]
    assert constant_kind(read("CAST('2026-01-31' AS DATE)")) == "date"
    assert constant_kind(read("CAST('soon' AS DATE)")) is None

"""How many digits numbers may have."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tidings.analysis.digits import Digits
from tidings.ir.expression import read

TYPES = {"d": "decimal(10,2)", "e": "decimal(12,4)", "n": "int"}
DIGITS = Digits(lambda column: TYPES.get(column.name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t.d", (8, 2)),
        ("t.n", (20, 0)),
        ("1.25", (1, 2)),
        ("t.d + t.e", (9, 4)),
        ("t.d * t.e", (17, 6)),
        ("-(t.d)", (8, 2)),
        ("CASE WHEN t.n > 1 THEN t.d ELSE t.e END", (8, 4)),
        ("COALESCE(t.d, NULL)", (8, 2)),
        ("t.d / t.e", None),
    ],
)
def test_size(text: str, expected: tuple[int, int] | None) -> None:
    assert DIGITS.size(read(text)) == expected


def test_places() -> None:
    assert DIGITS.places(read("SUM(t.d)")) == 2
    assert DIGITS.places(read("COUNT(*)")) == 0
    assert DIGITS.places(exp.Null()) == 0
    assert DIGITS.places(read("t.d / 2")) is None


def test_whole_numbers() -> None:
    assert DIGITS.whole(read("t.n + 1"))
    assert not DIGITS.whole(read("t.n + 1.5"))
    assert not DIGITS.whole(read("t.d"))

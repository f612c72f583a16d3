"""Scalars: what they compute and what they refuse."""

from __future__ import annotations

import pytest

from tidings.algebra.calculus import Scalar
from tidings.errors import InvalidExpression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x + y * 2", 13),
        ("x - -y", 8),
        ("y % x", 2),
        ("1 < x <= 3", True),
        ("1 < x < 3", False),
        ("x == 3 and not y != 5", True),
        ("x > 3 or y > 3", True),
        ("'a' == 'a'", True),
    ],
)
def test_values(text: str, value: object) -> None:
    assert Scalar(text).evaluate({"x": 3, "y": 5}) == value


@pytest.mark.parametrize("text", ["f(x)", "x.y", "x[0]", "x if y else z", "lambda: x", "x / y", "x in y", "x <", ""])
def test_refusals(text: str) -> None:
    with pytest.raises(InvalidExpression):
        Scalar(text)

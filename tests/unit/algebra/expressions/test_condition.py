"""Conditions in SQL, evaluated in Python with three-valued logic."""

from __future__ import annotations

import pytest

from tidings.algebra import Condition
from tidings.errors import InvalidExpression


@pytest.mark.parametrize(
    ("text", "row", "holds"),
    [
        ("a = 1", {"a": 1}, True),
        ("a <> 1", {"a": None}, False),
        ("NOT a = 1", {"a": None}, False),
        ("a IS NULL", {"a": None}, True),
        ("a IS NOT NULL", {"a": None}, False),
        ("a <=> NULL", {"a": None}, True),
        ("a = 1 OR b = 1", {"a": None, "b": 1}, True),
        ("a = 1 AND b = 1", {"a": None, "b": 1}, False),
        ("a IN (1, NULL)", {"a": 1}, True),
        ("NOT a IN (1, NULL)", {"a": 2}, False),
        ("a NOT IN (1, 3)", {"a": 2}, True),
        ("a BETWEEN 1 AND 3", {"a": 3}, True),
        ("a > 1.1 * b", {"a": 12.0, "b": 10.0}, True),
        ("a + 1 - b * 2 = 7 % 4", {"a": 6, "b": 2}, True),
        ("-7 % 4 = -3", {}, True),
        ("a / 2 = 1.5", {"a": 3}, True),
        ("-a < 0 AND true", {"a": 1}, True),
        ("a = 'it''s'", {"a": "it's"}, True),
    ],
)
def test_truth(text: str, row: dict[str, object], holds: bool) -> None:
    assert Condition.of(text).holds(row) is holds


@pytest.mark.parametrize("text", ["a >", "a > (", "'open", "upper(a) = 'X'"])
def test_what_cannot_be_read_or_evaluated_is_refused(text: str) -> None:
    with pytest.raises(InvalidExpression):
        Condition.of(text).holds({"a": 1})


@pytest.mark.parametrize("text", ["a > 'x'", "1 / a > 0", "1 % a > 0"])
def test_values_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(InvalidExpression):
        Condition.of(text).holds({"a": 0})


def test_parts_and_names() -> None:
    condition = Condition.of("a = 1 AND (b = 2 AND c = 3 OR c = 4)")
    assert [str(part) for part in condition.parts] == ["a = 1", "b = 2 AND c = 3 OR c = 4"]
    assert Condition.all_of(condition.parts) == condition
    assert Condition.all_of([]) is None
    assert str(condition.parts[0].renamed({"a": "x y"})) == "`x y` = 1"

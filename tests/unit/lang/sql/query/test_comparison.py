"""Comparisons with the rows of a subquery."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tidings.ir.expression import read, show
from tidings.lang.sql.parse import parsed
from tidings.lang.sql.query.comparison import Comparison, quantified, row


@pytest.mark.parametrize(
    ("text", "operator", "negated"),
    [
        ("a > ANY (SELECT b FROM t)", exp.GT, False),
        ("a = SOME (SELECT b FROM t)", exp.EQ, False),
        ("a > ALL (SELECT b FROM t)", exp.LTE, True),
        ("a <> ALL (SELECT b FROM t)", exp.EQ, True),
    ],
)
def test_all_is_the_negation_of_the_complement(text: str, operator: type, negated: bool) -> None:
    comparison = quantified(parsed(text))
    assert comparison is not None
    assert (comparison.comparison.operator, comparison.negated) == (operator, negated)
    assert comparison.value.sql() == "a"


@pytest.mark.parametrize("text", ["a > 1", "a > (SELECT 1)", "a + 1"])
def test_other_expressions_are_none(text: str) -> None:
    assert quantified(parsed(text)) is None


def test_conditions_column_by_column() -> None:
    comparison = Comparison(exp.EQ)
    values, items = [read("t.a"), read("t.b")], [read("u.a"), read("u.b"), read("u.tie")]
    assert [show(c) for c in comparison.holds(values, items)] == ["t.a = u.a", "t.b = u.b"]
    (first, _) = comparison.may_hold(values, items)
    assert show(first) == "(t.a = u.a OR t.a IS NULL OR u.a IS NULL)"


def test_rows() -> None:
    assert [e.sql() for e in row(parsed("(a, b)"))] == ["a", "b"]
    assert [e.sql() for e in row(parsed("a"))] == ["a"]

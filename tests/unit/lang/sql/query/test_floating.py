"""Aggregates of floating numbers in a fixed order."""

from __future__ import annotations

import pytest

from tests.unit.schema import Known, analyzer
from tidings.ir.expression import read
from tidings.ir.relation import Field
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.floating import in_fixed_order, window_in_fixed_order

FIELDS = (Field("t", "x", "double"), Field("t", "n", "int"))


def fixed(text: str, type: str = "double") -> str:
    return in_fixed_order(Context("", Known({}), analyzer()), read(text), type, FIELDS).sql("spark").replace("`", "")


def test_sums_and_averages_are_taken_in_order() -> None:
    assert "ORDER BY" in fixed("SUM(t.x)")
    assert "ORDER BY" in fixed("AVG(t.x)")
    assert "DISTINCT" in fixed("SUM(DISTINCT t.x)")


@pytest.mark.parametrize("call", ["CORR(t.n, t.x)", "COVAR_POP(t.n, t.x)", "REGR_SLOPE(t.n, t.x)"])
def test_pairs_are_taken_in_the_order_of_both(call: str) -> None:
    assert fixed(call) == call.replace("t.x)", "t.x ORDER BY t.n, t.x)")
    assert "CASE WHEN t.n > 1 THEN t.x END ORDER BY" in fixed(f"{call} FILTER(WHERE t.n > 1)")


def test_powers_are_taken_in_order() -> None:
    assert fixed("SKEWNESS(t.x)") == "SKEWNESS(t.x ORDER BY t.x)"


@pytest.mark.parametrize(("text", "type"), [("MAX(t.x)", "double"), ("SUM(t.n)", "bigint"), ("AVG(t.n)", "double")])
def test_what_is_exact_is_left_alone(text: str, type: str) -> None:
    assert "ORDER BY" not in fixed(text, type)


def test_a_filter_becomes_part_of_the_argument() -> None:
    text = fixed("SUM(t.x) FILTER(WHERE t.n > 1)")
    assert "CASE WHEN" in text
    assert "FILTER" not in text


def test_windows_without_an_order_get_one() -> None:
    assert "ORDER BY" in window_in_fixed_order(read("SUM(t.x) OVER (PARTITION BY t.n)"), "double").sql("spark")
    ordered = read("SUM(t.x) OVER (ORDER BY t.n)")
    assert window_in_fixed_order(ordered, "double") is ordered

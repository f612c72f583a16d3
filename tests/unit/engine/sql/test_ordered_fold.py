"""Aggregates in an order, for engines that have none."""

from __future__ import annotations

import pytest

from tidings.engine.sql.ordered_fold import by_folding
from tidings.lang.sql.parse import parsed


@pytest.mark.parametrize("call", ["SUM", "AVG", "VARIANCE", "STDDEV_POP", "SKEWNESS", "KURTOSIS"])
def test_a_fold_over_the_sorted_values(call: str) -> None:
    folded = by_folding(parsed(f"{call}(x ORDER BY x)"))
    assert folded is not None
    assert "SORT_ARRAY(COLLECT_LIST(CAST(x AS DOUBLE)))" in folded.sql("spark")


@pytest.mark.parametrize("call", ["CORR", "COVAR_POP", "REGR_R2", "REGR_SXX"])
def test_a_fold_over_the_sorted_pairs_in_which_both_are_there(call: str) -> None:
    folded = by_folding(parsed(f"{call}(a, b ORDER BY a, b)"))
    assert folded is not None
    assert "CASE WHEN NOT a IS NULL AND NOT b IS NULL THEN STRUCT(" in folded.sql("spark")
    assert by_folding(parsed(f"{call}(a, b)")) is None


def test_distinct_values_are_folded_once() -> None:
    folded = by_folding(parsed("SUM(DISTINCT x ORDER BY x)"))
    assert folded is not None
    assert "ARRAY_DISTINCT" in folded.sql("spark")


@pytest.mark.parametrize("call", ["SUM(x)", "MAX(x)", "x + 1"])
def test_others_are_left_alone(call: str) -> None:
    assert by_folding(parsed(call)) is None

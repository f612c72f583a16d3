"""Aggregates in an order, for engines that have none."""

from __future__ import annotations

import pytest

from tidings.engine.sql.ordered_fold import by_folding
from tidings.lang.sql.parse import parsed


@pytest.mark.parametrize("call", ["SUM", "AVG", "VARIANCE", "STDDEV_POP"])
def test_a_fold_over_the_sorted_values(call: str) -> None:
    folded = by_folding(parsed(f"{call}(x ORDER BY x)"))
    assert folded is not None
    assert "SORT_ARRAY(COLLECT_LIST(CAST(x AS DOUBLE)))" in folded.sql("spark")


def test_distinct_values_are_folded_once() -> None:
    folded = by_folding(parsed("SUM(DISTINCT x ORDER BY x)"))
    assert folded is not None
    assert "ARRAY_DISTINCT" in folded.sql("spark")


@pytest.mark.parametrize("call", ["SUM(x)", "MAX(x)", "x + 1"])
def test_others_are_left_alone(call: str) -> None:
    assert by_folding(parsed(call)) is None

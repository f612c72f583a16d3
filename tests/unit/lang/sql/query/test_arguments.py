"""Aggregates of nothing, and of too much."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.errors import InvalidExpression


@pytest.mark.parametrize(
    "call",
    [
        *(f"{name}(DISTINCT )" for name in ("max", "sum", "count", "array_agg", "collect_set", "listagg", "median")),
        "count()",
        "listagg() WITHIN GROUP (ORDER BY c)",
        "listagg(DISTINCT ) WITHIN GROUP (ORDER BY c)",
    ],
)
def test_an_aggregate_of_nothing_is_refused(call: str) -> None:
    with pytest.raises(InvalidExpression, match="has no argument"):
        bound(f"SELECT {call} FROM u")


@pytest.mark.parametrize(
    "call", ["max(a, c)", "max(DISTINCT c, array(0, 0.5))", "min(DISTINCT a, c)", "sum(DISTINCT a, c)"]
)
def test_an_aggregate_of_several_values_is_refused(call: str) -> None:
    with pytest.raises(InvalidExpression, match="takes one argument"):
        bound(f"SELECT {call} FROM u")


def test_several_values_are_counted() -> None:
    assert bound("SELECT count(DISTINCT a, c) FROM u")

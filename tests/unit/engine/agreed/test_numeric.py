"""The types that Spark gives to numbers."""

from __future__ import annotations

import pytest

from tidings.engine.agreed import numeric
from tidings.engine.agreed.numeric import common_type


def test_results_keep_six_places_when_digits_run_out() -> None:
    assert numeric.sum_digits((10, 2), (5, 3)) == (12, 3)
    assert numeric.product_digits((10, 2), (5, 3)) == (16, 5)
    assert numeric.product_digits((38, 10), (38, 10)) == (38, 6)
    assert numeric.quotient_digits((17, 2), (17, 2)) == (37, 20)
    assert numeric.quotient_digits((38, 4), (38, 4)) == (38, 6)
    assert numeric.remainder_digits((10, 2), (5, 3)) == (5, 3)


@pytest.mark.parametrize(
    ("kinds", "common"),
    [
        (["tinyint", "int", "smallint"], "int"),
        (["bigint", "decimal(7,2)"], "decimal(22,2)"),
        (["decimal(38,2)", "decimal(38,18)"], "decimal(38,2)"),
        (["double", "decimal(7,2)"], "double"),
        (["date", "timestamp"], "timestamp"),
        (["void", "string"], "string"),
        (["string", "int"], None),
        (["boolean", "int"], None),
        (["float", "int"], None),
        (["string", "int", "int"], None),
    ],
)
def test_values_that_meet(kinds: list[str], common: str | None) -> None:
    assert common_type(kinds) == common

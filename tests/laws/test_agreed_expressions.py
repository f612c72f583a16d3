"""The law of agreement: what DuckDB says of an expression in this process, Spark says too, to the last bit.

Where DuckDB has no answer Spark is asked, so nothing is demanded there; but it has one for most.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.laws.agreed_expressions import expression
from tests.laws.seeds import chunks
from tests.spark.both_engines import differences, evaluated
from tests.unit.engine.agreed.awkward import rows
from tidings.engine.duckdb import DuckDB


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(200, quick=40, size=40))
def test_random_expressions_are_agreed_upon(seeds: range, spark: Any) -> None:
    table, engine = rows(40, seed=seeds.start), DuckDB()
    texts = [expression(Random(seed)) for seed in seeds]
    ours = [e for text in texts if (e := evaluated(text, table, engine)) is not None]
    assert len(ours) >= len(texts) * 0.9
    assert sum(e.share for e in ours) >= len(ours) * 0.4
    assert differences(spark, [e for e in ours if e.share], table) == []

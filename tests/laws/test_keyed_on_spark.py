"""The first law for the keyed operators on Spark: the delta is the difference of its own recomputes, at every instant.

It holds wherever waves run: all on Spark, or in this process where the engines agree.

The cases are smaller than those for DuckDB, and keep to what Spark can run by itself.  Most of a case is planning in
the JVM, on one thread; so two cases run at a time, each in sessions of its own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.laws import oracle
from tests.laws.generate import Case
from tests.laws.keyed_views import keyed_case
from tests.laws.replay import replayed
from tests.laws.seeds import chunks

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seeds", chunks(60, quick=10, size=10))
def test_keyed_delta_is_difference_of_recomputes_on_spark(seeds: range, spark: Any) -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        for checked in [pool.submit(check, seed, spark) for seed in seeds]:
            checked.result()


FAILURES_OF_SPARK = ("[UNSUPPORTED_SUBQUERY_EXPRESSION", "[INTERNAL_ERROR", "java.lang.ClassCastException")
"""What Spark says of subqueries that it lacks, and where it fails itself, as with DISTINCT over a session window."""


def recomputed(seed: int, spark: Any) -> tuple[Case, oracle.Answers]:
    """The case of a seed and Spark's own answers; those of another seed, if Spark lacks a construct or fails on it."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    it = keyed_case(seed, transactions=2, depth=2, operators=2, portable=True)
    try:
        return it, oracle.recompute_on_spark(it, spark)
    except (AnalysisException, Py4JJavaError) as error:
        if not any(failure in str(error) for failure in FAILURES_OF_SPARK):
            raise AssertionError(str(it)) from error
        return recomputed(seed + 10_000, spark)


def check(seed: int, spark: Any) -> None:
    it, answers = recomputed(seed, spark)
    for execution in ("spark", "auto"):
        with replayed(it, engine="spark", spark=spark, execution=execution) as db:
            delta = db.changes(it.view, per_commit=True).to_arrow()
            oracle.assert_same(it, it.view, oracle.changes(delta), answers.between(0, it.instants[-1]))
            assert oracle.columns(delta.schema) == answers.columns, it

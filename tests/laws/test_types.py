"""The law of types: a view that DuckDB accepts has the columns and the types that Spark gives it.

Spark only analyses the views, over tables without rows, so that many can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidings
from tests.laws.generate import Case, case
from tests.laws.keyed_views import keyed_case
from tests.laws.replay import begin
from tests.laws.schema import arrow, quote
from tests.laws.seeds import chunks
from tidings.errors import TidingsError

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seeds", chunks(200, quick=10, size=10))
@pytest.mark.parametrize("made", [case, lambda seed: keyed_case(seed, portable=True)], ids=["plain", "keyed"])
def test_types_are_those_of_spark(seeds: range, made: Callable[[int], Case], spark: Any) -> None:
    judged = [compared(made(seed), spark) for seed in seeds]
    assert sum(judged) > len(judged) / 2, "most views are accepted by both"


def compared(it: Case, spark: Any) -> bool:
    """Compare the types of a case's last view; False if one engine does not take it."""
    from pyspark.errors import AnalysisException

    with tidings.open(engine="duckdb") as db:
        try:
            begin(db, Case(it.seed, it.tables, it.views, {}, ()), it.views)
        except TidingsError:  # Spark's alone, for the most part
            return False
        ours = {column.name: column.type for column in db._parts.plans.plan(it.view).fields}
    session = spark.newSession()
    for table in it.tables:
        session.createDataFrame(arrow(table, [])).createOrReplaceTempView(quote(table.name))
    try:
        for view in it.views:
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(view.name)} AS {view.query}")
        found = session.table(quote(it.view)).schema
    except AnalysisException:  # a construct that Spark lacks
        return False
    theirs = {field.name: field.dataType.simpleString() for field in found.fields}
    assert ours == theirs, it
    return True

"""The fourth law: Spark's delta is the difference of Spark's own recomputes, and DuckDB computes the same one.

The program is compiled once, with Spark's analyzer, and DuckDB runs it.  A database on DuckDB that binds and compiles
the view itself says the same, with the same types, or that Spark is needed.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.laws import oracle
from tests.laws.generate import Case, case
from tests.laws.replay import program, replayed, run
from tests.laws.seeds import chunks
from tidings.errors import SparkNeeded

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seeds", chunks(50, quick=5, size=5))
def test_engines_agree(seeds: range, spark: Any) -> None:
    for seed in seeds:
        it = case(seed, transactions=3)
        end = it.instants[-1]
        answers = oracle.recompute_on_spark(it, spark)
        with replayed(it, engine="spark", spark=spark) as db, replayed(it, views=False) as twin:
            delta = db.changes(it.view, per_commit=True).to_arrow()
            oracle.assert_same(it, it.view, oracle.changes(delta), answers.between(0, end))
            assert oracle.columns(delta.schema) == answers.columns, it
            on_duckdb = run(twin, program(db, it.view), 0, end)
            oracle.assert_same(it, f"{it.view} on DuckDB", oracle.changes(on_duckdb), oracle.changes(delta))
            assert oracle.columns(on_duckdb.schema) == oracle.columns(delta.schema), it
        own = _of_duckdb_alone(it)
        if own is not None:
            oracle.assert_same(it, f"{it.view} of a DuckDB alone", oracle.changes(own), oracle.changes(delta))
            assert oracle.columns(own.schema) == oracle.columns(delta.schema), it


def _of_duckdb_alone(it: Case) -> pa.Table | None:
    """The delta of a case in a database on DuckDB; None if it needs Spark."""
    try:
        with replayed(it) as db:
            return db.changes(it.view, per_commit=True).to_arrow()
    except SparkNeeded:
        return None

"""Every function that Spark lists: the same on DuckDB to the last bit, Spark's alone, or refused.

The calls of each function that DuckDB is said to evaluate are made with columns of awkward values of all types and with
constants, and held against Spark.  What comes of it is the table of ``docs/functions.md``, which
``TIDINGS_REWRITE_GOLDENS=1`` writes anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.spark.both_engines import Evaluated, differences, evaluated
from tests.spark.function_calls import calls
from tests.spark.function_docs import page
from tests.unit.engine.agreed.awkward import rows
from tidings.analysis.spark_functions import DETERMINED, NOT_DETERMINED
from tidings.engine.duckdb import DuckDB

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
BATCH = 40
"""So many calls are one query of Spark."""
MOST = 2
"""So many calls of each number of arguments are made."""


@pytest.fixture(scope="module")
def names(spark: Any) -> list[str]:
    return [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]


def test_the_names_are_those_of_spark(names: list[str]) -> None:
    assert {name for name in names if name.isidentifier()} == DETERMINED | NOT_DETERMINED


def test_functions_are_the_same_on_both_engines(spark: Any, names: list[str]) -> None:
    assert _differing(spark, [text for name in names for text in calls(name, MOST)], seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_more_calls_are_the_same_on_both_engines(spark: Any, names: list[str], seed: int) -> None:
    assert _differing(spark, [text for name in names for text in calls(name, 6, seed)], seed) == []


def test_the_page_of_functions(names: list[str]) -> None:
    text = page([name for name in names if name.isidentifier()])
    if os.environ.get("TIDINGS_REWRITE_GOLDENS"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def _differing(spark: Any, texts: list[str], seed: int) -> list[str]:
    """Where Spark has another type or value than DuckDB, or none."""
    table, engine = rows(30, seed), DuckDB()
    ours = [e for text in texts if (e := evaluated(text, table, engine)) is not None and e.share > 0]
    found: list[str] = []
    for start in range(0, len(ours), BATCH):
        found += _of_batch(spark, ours[start : start + BATCH], table)
    return found


def _of_batch(spark: Any, batch: list[Evaluated], table: Any) -> list[str]:
    """The differences of some calls; where Spark refuses all of them, those of each half."""
    try:
        return differences(spark, batch, table)
    except Exception as error:  # whatever the JVM says
        if len(batch) == 1:
            return [f"{batch[0].text}: Spark says {str(error).splitlines()[0][:200]}"]
        half = len(batch) // 2
        return _of_batch(spark, batch[:half], table) + _of_batch(spark, batch[half:], table)

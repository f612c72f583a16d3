"""Lookups on Spark: by lists of keys and by their hashes, and waves over rows that were looked up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from tests.laws.seeds import chunks
from tests.laws.test_keyed_on_spark import check
from tidings.engine import run
from tidings.engine.arrow import arrow_schema
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.spark import Spark, hashed_lookups
from tidings.ir.relation import Column
from tidings.waves.on_engine import small_relations

pytestmark = pytest.mark.spark

VALUES: dict[str, list[Any]] = {
    "bigint": [1, -(1 << 63), (1 << 63) - 1, None, 1, 0],
    "int": [1, -(1 << 31), 0, None, 7, 7],
    "smallint": [1, -1, 0, None, 7, 7],
    "string": ["", "a", "ä\U0001f600", None, "a ", "A"],
    "boolean": [True, False, None, True, False, None],
    "date": [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None, date(1970, 1, 1), date(1582, 10, 4)],
    "timestamp": [datetime(2024, 2, 29, 1, 2, 3, 4, UTC), None, datetime(1970, 1, 1, tzinfo=UTC)] * 2,
}
"""Values of each type that keys may have."""
COLUMNS = tuple(Column(f"of {type}", type) for type in VALUES)
NUMBERED = Column("number", "int")


@pytest.fixture
def engine(spark: Any) -> Iterator[Spark]:
    engine = Spark(spark)
    rows = {c.name: VALUES[c.type] for c in COLUMNS} | {"number": list(range(6))}
    columns = (*COLUMNS, NUMBERED)
    engine.load("values", columns, pa.table(rows, arrow_schema(columns)), "number")
    yield engine
    engine.close()


def lookups() -> list[BaseLookup]:
    """For each type a lookup by some of its values, with NULL and without."""
    every = []
    for column in COLUMNS:
        values = VALUES[column.type]
        for keys, nulls in (values[:2], False), (values[2:5], True), ([], True):
            typed = pa.array(keys, arrow_schema((column,)).field(0).type)
            for in_order in False, True:
                every.append(BaseLookup("values", (NUMBERED, column), column, typed, nulls, in_order))
    return every


def numbers(answers: list[pa.Table]) -> list[list[int]]:
    return [sorted(rows.column("number").to_pylist()) for rows in answers]


def expected(lookup: BaseLookup) -> list[int]:
    assert lookup.column is not None
    keys = {key for key in lookup.keys.to_pylist() if key is not None} | ({None} if lookup.nulls else set())
    return [number for number, value in enumerate(VALUES[lookup.column.type]) if value in keys]


@pytest.mark.parametrize("listed", [400, 0, 2])
def test_rows_of_keys(engine: Spark, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By lists, by hashes, and by both in one query."""
    monkeypatch.setattr(hashed_lookups, "LISTED", listed)
    monkeypatch.setattr(hashed_lookups, "LISTED_IN_ORDER", listed)
    assert numbers(engine.look_up(lookups())) == [expected(lookup) for lookup in lookups()]


def test_keys_of_all_lookups_are_broadcast_once(engine: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_lookups, "LISTED", 1)
    by_number = BaseLookup("values", (NUMBERED,), NUMBERED, pa.array([1, 2, 3], pa.int32()), False)
    with engine.counted() as jobs:
        answers = engine.look_up([by_number] * 3)
    assert numbers(answers) == [[1, 2, 3]] * 3
    assert jobs.number == 2


@pytest.mark.parametrize("seeds", chunks(30, quick=4, size=10))
def test_waves_over_rows_looked_up_are_right(seeds: range, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LIST_LIMIT", 0)
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    for name in "LISTED", "LISTED_IN_ORDER":
        monkeypatch.setattr(hashed_lookups, name, 0)
    for seed in seeds:
        check(seed, spark)

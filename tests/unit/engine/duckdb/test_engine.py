"""DuckDB as an engine: sources, failures, names."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tidings.engine.arrow import arrow_schema
from tidings.engine.duckdb import DuckDB
from tidings.engine.location import Location
from tidings.engine.source import Source
from tidings.errors import EngineFailed
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed, SparkAlone
from tidings.lang.sql.parse import statements

COLUMNS = (Column("x", "int"), Column("odd \"n'ame", "string"))


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    duck = DuckDB()
    duck.load("b", COLUMNS, pa.Table.from_pylist([row(1, "a"), row(2, "b")], schema=arrow_schema(COLUMNS)), "x")
    yield duck
    duck.close()


def row(x: int, name: str) -> dict[str, object]:
    return {"x": x, COLUMNS[1].name: name}


def changes(*entries: tuple[int, str, int]) -> pa.Table:
    rows = [{**row(x, n), "__t": 5, "__w": w} for x, n, w in entries]
    return pa.Table.from_pylist(rows, schema=arrow_schema(COLUMNS, versioned=True))


def fetched(engine: DuckDB, text: str) -> list[tuple[object, ...]]:
    table = engine.fetch(text)
    return sorted(tuple(r.values()) for r in table.to_pylist())


def test_versioned_source_is_base_and_changes(engine: DuckDB) -> None:
    engine.versioned("s", Source(COLUMNS, "b", changes((1, "a", -1), (3, "c", 2))))
    assert fetched(engine, "SELECT x, __t, __w FROM s") == [(1, 0, 1), (1, 5, -1), (2, 0, 1), (3, 5, 2)]


def test_plain_source_is_a_bag(engine: DuckDB) -> None:
    engine.plain("s", Source(COLUMNS, "b", changes((1, "a", -1), (3, "c", 2))))
    assert fetched(engine, "SELECT x FROM s") == [(2,), (3,), (3,)]


def test_a_source_that_fails_half_way_leaves_no_rows(engine: DuckDB) -> None:
    good, bad = Source(COLUMNS, "b", changes((1, "a", -1))), Source(COLUMNS, "lost", changes((7, "g", 1)))
    for register, answer in ((engine.plain, [(2,)]), (engine.versioned, [(1,), (1,), (2,)])):
        register("s", good)
        with pytest.raises(EngineFailed):
            register("s", bad)
        register("s", good)
        assert fetched(engine, "SELECT x FROM s") == answer


def test_plain_source_without_base(engine: DuckDB) -> None:
    engine.plain("s", Source(COLUMNS, None, changes((1, "a", 2))))
    assert fetched(engine, "SELECT * FROM s") == [(1, "a"), (1, "a")]


def test_rows_are_written_to_parquet(engine: DuckDB, tmp_path: Path) -> None:
    engine.versioned("s", Source(COLUMNS, "b", changes((3, "c", 2))))
    rows = Location.local(tmp_path / "rows")
    engine.write("SELECT * FROM s", rows)
    engine.versioned("again", Source(COLUMNS, None, rows))
    assert fetched(engine, "SELECT x, __w FROM again") == [(1, 1), (2, 1), (3, 2)]


def test_failure_is_one_sentence(engine: DuckDB) -> None:
    with pytest.raises(EngineFailed) as refused:
        engine.fetch("SELECT CAST('x' AS INT)")
    assert refused.value.parameters["engine"] == "duckdb"
    assert "\n" not in str(refused.value.parameters["reason"])
    assert refused.value.__cause__ is None


def test_analysis_failure(engine: DuckDB) -> None:
    (query,) = statements("SELECT nosuch(1)")
    with pytest.raises(AnalysisFailed, match="NOSUCH"):
        engine.analyze(query)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["coalesce('a', 0)", "CASE WHEN true THEN 'a' ELSE 1 END", "'a' = array(1)"])
def test_where_types_are_mixed_its_word_is_not_sparks(engine: DuckDB, text: str) -> None:
    """Spark casts in some of these, and knows which."""
    (query,) = statements(f"SELECT {text} AS x")
    with pytest.raises(SparkAlone):
        engine.analyze(query)  # type: ignore[arg-type]


def test_a_base_must_be_arrow(engine: DuckDB) -> None:
    with pytest.raises(EngineFailed):
        engine.load("b", COLUMNS, [row(1, "a")], "x")


class Stumbling:
    """A connection whose optimizer fails unless it leaves the joins in order."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def execute(self, text: str) -> Any:
        (left_alone,) = self.inner.execute("SELECT current_setting('disabled_optimizers')").fetchone()
        if text == "SELECT 1 AS x" and "join_order" not in left_alone:
            raise duckdb.InternalException("INTERNAL Error: Failed to bind column reference")
        return self.inner.execute(text)


def test_joins_stay_in_order_where_reordering_fails(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = engine._connection.inner
    monkeypatch.setattr(engine._connection, "inner", Stumbling(inner))
    assert engine.fetch("SELECT 1 AS x").to_pylist() == [{"x": 1}]
    assert inner.execute("SELECT current_setting('disabled_optimizers')").fetchall() == [("",)]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_as_one(engine: DuckDB) -> None:
    """DuckDB tells an interrupt as a failure of its own, in two ways."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous, chance, interrupts = signal.signal(signal.SIGALRM, interrupt), random.Random(3), 0
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0002, 0.004))
                for number in range(30):
                    engine.versioned("s", Source(COLUMNS, "b", changes((number, "a", 1))))
            except KeyboardInterrupt:
                interrupts += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert interrupts > 50

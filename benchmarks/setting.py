"""Databases to measure, in folders that go when they are done, and plain engines with the same tables beside them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

import tidings
from benchmarks.measure import Limit
from tidings.engine.spark import Spark
from tidings.front.choices import Engine, Execution, StrategyChoice
from tidings.waves.strategy import Strategy

EXECUTIONS: tuple[Execution, ...] = ("spark", "auto")
"""How waves may be run on the Spark engine."""


@contextmanager
def database(
    engine: Engine = "spark",
    *,
    execution: Execution = "spark",
    clock: tidings.clock.Clock | None = None,
    strategy: StrategyChoice = "auto",
    memory: str | None = None,
) -> Iterator[tidings.Database]:
    """A new durable database that keeps its whole history."""
    folder = Path(tempfile.mkdtemp(prefix="tidings-bench-"))
    try:
        with tidings.open(
            folder,
            engine=engine,
            execution=execution,
            clock=clock,
            strategy=strategy,
            retention=None,
            memory=memory,
        ) as db:
            yield db
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def forced(db: tidings.Database, strategy: Strategy | None) -> Iterator[None]:
    """Let waves take one way whatever the estimates say, as ``tidings.open(strategy=…)`` does for good; None: any."""
    before, db._parts.scheduler.planner.only = db._parts.scheduler.planner.only, strategy
    try:
        yield
    finally:
        db._parts.scheduler.planner.only = before


@contextmanager
def executing(db: tidings.Database, execution: str) -> Iterator[None]:
    """Let the waves of a database opened with ``execution="auto"`` run so, or all on Spark."""
    before = db._parts.scheduler.engines.in_process
    db._parts.scheduler.engines.in_process = before if execution == "auto" else None
    try:
        yield
    finally:
        db._parts.scheduler.engines.in_process = before


def limited(db: tidings.Database, seconds: float) -> Limit:
    """A limit to what a database may take for one thing."""
    backend = db._parts.backend
    if isinstance(backend, Spark):
        return Limit(seconds, backend.session.sparkContext.cancelAllJobs)
    return Limit(seconds, lambda: None)


def never_fold(db: tidings.Database) -> None:
    """Let logs grow: a fold in the background would be measured with what runs beside it."""
    db._parts.folding.policy = replace(db._parts.folding.policy, rows=1 << 60)


def stop_spark() -> None:
    """Stop Spark, if it runs."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


class Plain(Protocol):
    """An engine without Tidings that has the tables under their own names."""

    def fetch(self, text: str) -> pa.Table:
        """All rows of a query."""


class PlainDuckDB:
    """DuckDB with tables of its own."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")
        self.connection.execute("SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            self.connection.register("given", rows)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self.connection.unregister("given")

    def fetch(self, text: str) -> pa.Table:
        return self.connection.execute(text).to_arrow_table()


class PlainSpark:
    """Spark over the cached frames that a database rests on: its tables as they were last loaded or folded."""

    def __init__(self, db: tidings.Database, tables: Iterable[str]) -> None:
        assert isinstance(db._parts.backend, Spark)
        self._backend = db._parts.backend
        for name in tables:
            held = db._parts.relations.table(name).base
            assert held is not None
            self._backend.base(held).createOrReplaceTempView(name)

    def fetch(self, text: str) -> pa.Table:
        return self._backend.fetch(text)

    def trivial(self, text: str) -> pa.Table:
        """A query of one job, with the settings that Tidings has for small waves."""
        return self._backend.fetch(text, small=True)

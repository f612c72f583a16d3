"""A Spark session as an engine: analysis, sources under names, queries and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote
from sqlglot import exp

from tidings.engine.backend import Jobs
from tidings.engine.base_lookup import BaseLookup, lookup_answers, lookup_query
from tidings.engine.location import Location
from tidings.engine.scalar_function import ScalarFunction
from tidings.engine.source import Source
from tidings.engine.spark.bases import Bases
from tidings.engine.spark.hashed_lookups import KEYS, hashed_query, is_hashed, key_rows
from tidings.engine.spark.session import (
    arrow_rows,
    failures_named,
    fragment,
    local_session,
    quiet_session,
    quoted,
    scratch_of,
    sentence,
    type_text,
)
from tidings.engine.spark.states import state
from tidings.engine.spark.workload import Work, Workload
from tidings.engine.speeds import SPARK
from tidings.engine.sql.dialect import Dialect, printed
from tidings.ir import types
from tidings.ir.expression import TIME, WEIGHT, typed_null
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed
from tidings.lang.sql.table_operator import TableOperator

_NOTHING = pa.table({"nothing": pa.array([], pa.int32())})

_BATCH = 1_000
"""Rows per batch of a cached base: each batch knows its least and greatest keys, and only fitting ones are read."""

_ROW_GROUP = 1 << 20
"""Bytes per row group of a snapshot: single rows are looked up in them."""


class _Registered(NamedTuple):
    """What a name stands for, and what to release when it stands for something else."""

    source: Source
    scratch: ExitStack


class Spark:
    """A Spark session of its own; see :class:`tidings.engine.backend.Backend`."""

    name = "spark"
    looks_up_first = True
    usual = SPARK
    dialect = Dialect("spark", casts_items=False, one_task=True, halves=True, generates=True)

    def __init__(
        self, session: SparkSession | None = None, *, caching: bool = True, shared: Location | None = None
    ) -> None:
        self._parent = session
        self._spark = local_session() if session is None else session.newSession()
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        self._spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        self._spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", str(_BATCH))
        self._shared = shared
        self.scratch = scratch_of(self._spark, shared)
        self._bases = Bases(self._spark, self.scratch, caching=caching)
        self._workload = Workload(self._spark)
        self._registered: dict[str, _Registered] = {}
        self._functions: dict[str, ScalarFunction] = {}
        self._operators: dict[str, TableOperator] = {}

    @property
    def session(self) -> SparkSession:
        """The session this engine works in."""
        return self._spark

    @property
    def user_session(self) -> SparkSession:
        """The session the database was opened with; this engine's own if there was none."""
        return self._spark if self._parent is None else self._parent

    def base(self, name: str) -> DataFrame:
        """The base rows of a relation."""
        return self._bases[name]

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        for call in query.find_all(exp.Anonymous) if self._functions else ():
            function = self._functions.get(str(call.this).lower())
            if function is not None and len(function.takes) != len(call.expressions):
                reason = f"{function.name} takes {len(function.takes)} arguments, not {len(call.expressions)}"
                raise AnalysisFailed(reason, call.sql(self.dialect.name))
        try:
            with quiet_session():
                schema = self._spark.sql(printed(query, self.dialect)).schema
        except AnalysisException as error:
            raise AnalysisFailed(sentence(error), fragment(error)) from None
        return tuple(Column(f.name, type_text(f.dataType)) for f in schema.fields)

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        stand_ins = []
        for relation, columns in relations.items():
            nulls = (typed_null(c.type).as_(c.name, quoted=True) for c in columns)
            stand_ins.append(f"{quoted(relation)} AS ({printed(exp.select(*nulls), self.dialect)})")
        prefix = f"WITH {', '.join(stand_ins)} " if stand_ins else ""
        try:
            with quiet_session():
                return tuple(self._spark.sql(f"{prefix}SELECT * FROM (\n{text}\n)").columns)
        except PySparkException:
            return None

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        self.unload(name)
        self._workload.begin(Work.SORT)
        with failures_named():
            return self._bases.load(name, columns, data, sorted_by)

    def offer(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        self.unload(name)
        with failures_named():
            self._bases.offer(name, columns, data)

    def load_files(
        self,
        name: str,
        columns: tuple[Column, ...],
        paths: list[Location],
        read: list[str] | None = None,
        *,
        cached_bytes: int | None = None,
    ) -> None:
        self.unload(name)
        self._bases.load_files(name, columns, paths, read, cached_bytes)

    def unload(self, name: str) -> None:
        for registered in [n for n, r in self._registered.items() if r.source.base == name]:
            self._registered.pop(registered).scratch.close()
        self._bases.unload(name)

    def versioned(self, name: str, source: Source) -> None:
        self._register(name, source, self._versioned)

    def plain(self, name: str, source: Source) -> None:
        self._register(name, source, partial(state, self._bases))

    def _register(self, name: str, source: Source, prepare: Callable[[Source, ExitStack], DataFrame]) -> None:
        """Prepare a source and let it be read under a name, unless the name stands for it already."""
        before = self._registered.get(name)
        if before is not None and before.source is source:
            self._bases.use(source.base)
            return
        with ExitStack() as scratch:
            prepare(source, scratch).createOrReplaceTempView(name)
            self._registered[name] = _Registered(source, scratch.pop_all())
        if before is not None:
            before.scratch.close()

    def _versioned(self, source: Source, scratch: ExitStack) -> DataFrame:
        frames = []
        if source.base is not None:
            base = self._bases[source.base]
            frames.append(base.select("*", F.lit(0).cast("bigint").alias(TIME), F.lit(1).cast("bigint").alias(WEIGHT)))
        changes = source.changes
        if isinstance(changes, Location):
            frames.append(self._spark.read.parquet(changes.pattern))
        elif changes.num_rows or not frames:
            frames.append(self._bases.local(changes, scratch))
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        return self._fetch(text, Work.SMALL if small else Work.LARGE, columns)

    def _fetch(self, text: str, work: Work, columns: tuple[Column, ...] = ()) -> pa.Table:
        self._workload.begin(work)
        nested = {c.name: c.type for c in columns if types.is_nested(c.type)}
        try:
            with failures_named(), quiet_session():
                return arrow_rows(self._spark, text, nested)
        finally:
            self._step_back()

    def _step_back(self) -> None:
        """Leave a session of the user's as the active one again, which creating frames in ours has changed."""
        if self._parent is not None and not is_remote():
            self._workload.begin(Work.LARGE)
            self._parent.createDataFrame(_NOTHING)

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        views = [self._bases.view(lookup.base) for lookup in lookups]
        if any(map(is_hashed, lookups)):
            with ExitStack() as scratch:
                self._bases.local(key_rows(lookups), scratch).createOrReplaceTempView(KEYS)
                return lookup_answers(self._fetch(hashed_query(lookups, views), Work.SCAN), lookups)
        text = lookup_query(lookups, views, self.dialect.name)
        return lookup_answers(self._fetch(f"SELECT /*+ COALESCE(1) */ * FROM (\n{text}\n)", Work.SMALL), lookups)

    def counted(self) -> AbstractContextManager[Jobs]:
        return self._workload.counted()

    def stoppable(self) -> AbstractContextManager[Callable[[], object]]:
        return self._workload.stoppable()

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        self._workload.begin(Work.SORT)
        with failures_named(), quiet_session():
            rows = self._spark.sql(text).sort(quoted(sorted_by))
            writer = rows.write.option("maxRecordsPerFile", rows_per_file).option("compression", "zstd")
            writer.option("parquet.block.size", _ROW_GROUP).parquet(path.url)

    def write(self, text: str, path: Location) -> None:
        self._workload.begin(Work.LARGE)
        with failures_named(), quiet_session():
            self._spark.sql(text).write.parquet(path.url)

    def register(self, function: ScalarFunction) -> None:
        with failures_named():
            untyped: Any = F  # the stubs of PySpark do not have arrow_udf
            udf = untyped.arrow_udf(function.vectorised(), function.returns)
            self._spark.udf.register(function.name, udf)
        self._functions[function.name] = function
        if function.operator is not None:
            self._operators[function.operator.name] = function.operator

    def has_function(self, name: str) -> bool:
        with failures_named():
            return name not in self._functions and self._spark.catalog.functionExists(name)

    def is_added(self, name: str) -> bool:
        return any(name.lower() == added.lower() for added in self._functions)

    def operator(self, name: str) -> TableOperator | None:
        return self._operators.get(name.lower())

    def sibling(self) -> Spark:
        return Spark(self._spark, caching=False, shared=self._shared)

    def close(self) -> None:
        for registered in self._registered.values():
            registered.scratch.close()
        self._bases.close()
        if self.scratch is not None:
            self.scratch.close()
        if is_remote():
            self._spark.client.close()

"""Apache Spark as an engine, through PySpark's public API: classic sessions and Spark Connect alike.

Small waves and large ones want different settings.  A small wave reads a few rows by literal keys: generating and
compiling Java for it costs more than it saves, and so does re-planning at run time; both are switched off for it.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType
from pyspark.sql.utils import is_remote
from sqlglot import exp

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Jobs
from tidings.engine.base_lookup import BaseLookup, lookup_answers, lookup_query
from tidings.engine.java import require_java
from tidings.engine.lower import Dialect, printed
from tidings.engine.plain_rows import plain_rows, separating_column
from tidings.engine.source import Source
from tidings.errors import EngineFailed
from tidings.ir import types
from tidings.ir.expression import TIME, WEIGHT, typed_null
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed
from tidings.quiet import quiet

_FAILURES = (PySparkException, Py4JError)

_QUERY_LOG = "SQLQueryContextLogger"

_LOCAL_ROWS = 10_000
"""A base of more rows than this is kept in files; local rows would travel with every plan."""

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_SPOILING = re.compile(r"\[PLAN_VALIDATION_FAILED_RULE_IN_BATCH\] Rule ([\w.$]+)")

_GROUP = "spark.jobGroup.id"
"""What tells the jobs of a wave from others."""

_NOTHING = pa.table({"nothing": pa.array([], pa.int32())})

_BATCH = 1_000
"""Rows per batch of a cached base: each batch knows its least and greatest keys, and only fitting ones are read."""

_ROW_GROUP = 1 << 20
"""Bytes per row group of a snapshot: single rows are looked up in them."""

_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
}


@dataclass(slots=True)
class _Counting:
    """Counts the jobs of a group, which begins with the first one: Spark is not asked where it has nothing to do."""

    begun: bool = False
    _group: str = field(default_factory=lambda: f"tidings-{uuid.uuid4().hex}")
    _before: str | None = None

    def begin(self, session: SparkSession) -> None:
        self.begun, self._before = True, session.sparkContext.getLocalProperty(_GROUP)
        session.sparkContext.setLocalProperty(_GROUP, self._group)

    def end(self, session: SparkSession) -> int:
        session.sparkContext.setLocalProperty(_GROUP, self._before)  # type: ignore[arg-type]  # None takes it away
        return len(session.sparkContext.statusTracker().getJobIdsForGroup(self._group))


class Spark:
    """A Spark session of its own; see :class:`tidings.engine.backend.Backend`."""

    name = "spark"
    fixed_cost = 2_000_000
    dialect = Dialect("spark", casts_items=False, one_task=True, halves=True)

    def __init__(self, session: SparkSession | None = None, *, caching: bool = True) -> None:
        self._parent = session
        self._caching = caching
        self._spark = _local_session() if session is None else session.newSession()
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        self._spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        self._spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", str(_BATCH))
        self._large = {k: self._spark.conf.get(k) for k in _SMALL}
        self._small = False
        self._registered: dict[str, Source] = {}
        self._bases: dict[str, DataFrame] = {}
        self._views: set[str] = set()
        """The bases that can be read by name."""
        self._shared: dict[str, str] = {}
        self._files = Path(tempfile.mkdtemp(prefix="tidings-"))
        self._numbers = itertools.count()
        self._counting: _Counting | None = None

    @property
    def session(self) -> SparkSession:
        """The session this engine works in."""
        return self._spark

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        try:
            with _quiet():
                schema = self._spark.sql(printed(query, self.dialect)).schema
        except AnalysisException as error:
            raise AnalysisFailed(_sentence(error), _fragment(error)) from None
        return tuple(Column(f.name, _type_text(f.dataType)) for f in schema.fields)

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        stand_ins = []
        for relation, columns in relations.items():
            nulls = (typed_null(c.type).as_(c.name, quoted=True) for c in columns)
            stand_ins.append(f"{_quoted(relation)} AS ({printed(exp.select(*nulls), self.dialect)})")
        prefix = f"WITH {', '.join(stand_ins)} " if stand_ins else ""
        try:
            with _quiet():
                return tuple(self._spark.sql(f"{prefix}SELECT * FROM (\n{text}\n)").columns)
        except PySparkException:
            return None

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        self.unload(name)
        frame = self._frame(name, columns, data)
        typed = [F.col(_quoted(c.name)).cast(c.type).alias(c.name) for c in columns]
        self._settle(False)
        try:
            base = frame.select(*typed)
            if not any(c.name == sorted_by and c.type.startswith("map<") for c in columns):
                base = base.sort(_quoted(sorted_by))
            base = base.cache()
            size = base.count()
        except _FAILURES as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None
        self._bases[name] = base
        return size

    def load_files(
        self, name: str, columns: tuple[Column, ...], paths: list[Path], read: list[str] | None = None
    ) -> None:
        self.unload(name)
        schema = arrow_schema(columns)
        if not paths:
            self._bases[name] = self._spark.createDataFrame(schema.empty_table())
            return
        frame = self._spark.read.parquet(*map(str, paths))
        own = read or [_quoted(c.name) for c in columns]
        typed = [F.expr(text).cast(c.type).alias(c.name) for text, c in zip(own, columns, strict=True)]
        base = frame.select(*typed)
        self._bases[name] = base.cache() if self._caching else base

    def save(self, text: str, path: Path, sorted_by: str, rows_per_file: int) -> None:
        self._settle(False)
        try:
            with _quiet():
                rows = self._spark.sql(text).sort(_quoted(sorted_by))
                writer = rows.write.option("maxRecordsPerFile", rows_per_file).option("compression", "zstd")
                writer.option("parquet.block.size", _ROW_GROUP).parquet(str(path))
        except _FAILURES as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None

    def base(self, name: str) -> DataFrame:
        """The base rows of a relation."""
        return self._bases[name]

    def _frame(self, name: str, columns: tuple[Column, ...], data: object) -> DataFrame:
        if isinstance(data, pa.Table):
            return self._local(conform(data, arrow_schema(columns)))
        if hasattr(data, "createOrReplaceGlobalTempView"):
            shared = f"tidings_{uuid.uuid4().hex}"
            data.createOrReplaceGlobalTempView(shared)
            self._shared[name] = shared
            return self._spark.table(f"global_temp.{shared}")
        raise EngineFailed(engine=self.name, reason=f"rows of {name} cannot be read from a {type(data).__name__}")

    def _local(self, rows: pa.Table) -> DataFrame:
        """Rows of this process as a frame: few as Arrow, many by way of a file."""
        if rows.num_rows <= _LOCAL_ROWS:
            return self._spark.createDataFrame(rows)
        path = self._files / f"{next(self._numbers)}.parquet"
        pq.write_table(rows, path)
        return self._spark.read.parquet(str(path))

    def unload(self, name: str) -> None:
        found = self._bases.pop(name, None)
        self._views.discard(name)
        if found is not None and self._caching:  # a cache belongs to the plan, whichever session asks
            found.unpersist()
        shared = self._shared.pop(name, None)
        if shared is not None:
            self._spark.catalog.dropGlobalTempView(shared)

    def versioned(self, name: str, source: Source) -> None:
        if self._registered.get(name) is source:
            return
        frames = []
        if source.base is not None:
            base = self._bases[source.base]
            frames.append(base.select("*", F.lit(0).cast("bigint").alias(TIME), F.lit(1).cast("bigint").alias(WEIGHT)))
        changes = source.changes
        if isinstance(changes, Path):
            frames.append(self._spark.read.parquet(str(changes)))
        elif changes.num_rows or not frames:
            frames.append(self._local(changes))
        self._register(name, source, frames)

    def plain(self, name: str, source: Source) -> None:
        came, went = plain_rows(source.changes, has_base=source.base is not None)
        frames = [] if source.base is None else [self._bases[source.base]]
        if came.num_rows or not frames:
            frames.append(self._local(came))
        self._register(name, source, frames, went)

    def _register(self, name: str, source: Source, frames: list[DataFrame], went: pa.Table | None = None) -> None:
        frame = frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
        if went is not None and went.num_rows:
            frame = self._without(frame, went, source.columns)
        frame.createOrReplaceTempView(name)
        self._registered[name] = source

    def _without(self, frame: DataFrame, went: pa.Table, columns: tuple[Column, ...]) -> DataFrame:
        """A frame less some rows; see :func:`tidings.engine.plain_rows.separating_column`."""
        by = separating_column(went, columns)
        if by is None:
            return frame.exceptAll(self._local(went))
        gone = self._local(went)
        keys = F.broadcast(gone.select(F.col(_quoted(by.name)).alias("__gone")).distinct())
        among = F.col(_quoted(by.name)) == F.col("__gone")
        kept = frame.join(keys, among, "left_anti")
        return kept.unionAll(frame.join(keys, among, "left_semi").exceptAll(gone))

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        self._settle(small)
        nested = {c.name: c.type for c in columns if types.is_nested(c.type)}
        try:
            with _quiet():
                return self._rows(text, nested)
        except _FAILURES as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None
        finally:
            self._step_back()

    def _rows(self, text: str, nested: dict[str, str]) -> pa.Table:
        """The rows of a query; without the rule of Spark's optimizer that spoils its plan, if one does.

        Spark 4.3 checks plans after every rule, and RemoveRedundantAliases loses columns of some plans in which one
        relation stands several times below unions and windows.
        """

        def rows() -> pa.Table:
            found = self._spark.sql(text)
            if nested:  # Arrow refuses a NULL struct whose fields Spark knows to be never NULL; a cast forgets that
                found = found.withColumns({n: F.col(_quoted(n)).cast(t) for n, t in nested.items()})
            return found.toArrow()

        try:
            return rows()
        except _FAILURES as error:
            rule = _SPOILING.search(str(error))
            if rule is None:
                raise
        self._spark.conf.set(_EXCLUDED, rule[1])
        try:
            return rows()
        finally:
            self._spark.conf.unset(_EXCLUDED)

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        for base in {lookup.base for lookup in lookups} - self._views:
            self._bases[base].createOrReplaceTempView(_view(base))
            self._views.add(base)
        text = lookup_query(lookups, [_view(lookup.base) for lookup in lookups], self.dialect.name)
        return lookup_answers(self.fetch(f"SELECT /*+ COALESCE(1) */ * FROM (\n{text}\n)", small=True), lookups)

    @contextmanager
    def counted(self) -> Iterator[Jobs]:
        if is_remote():
            yield Jobs(None)
            return
        jobs, self._counting = Jobs(), _Counting()
        try:
            yield jobs
        finally:
            counting, self._counting = self._counting, None
            if counting.begun:
                jobs.number = counting.end(self._spark)

    def _step_back(self) -> None:
        """Leave a session of the user's as the active one again, which creating frames in ours has changed."""
        if self._parent is not None and not is_remote():
            self._settle(False)
            self._parent.createDataFrame(_NOTHING)

    def write(self, text: str, path: Path) -> None:
        self._settle(False)
        try:
            with _quiet():
                self._spark.sql(text).write.parquet(str(path))
        except _FAILURES as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None

    def _settle(self, small: bool) -> None:
        """Set the session up for small or for large work, which begins now."""
        if self._counting is not None and not self._counting.begun:
            self._counting.begin(self._spark)
        if small != self._small:
            for key, value in (_SMALL if small else self._large).items():
                self._spark.conf.set(key, value or "")
            self._small = small

    def sibling(self) -> Spark:
        return Spark(self._spark, caching=False)

    def close(self) -> None:
        for name in list(self._bases):
            self.unload(name)
        shutil.rmtree(self._files, ignore_errors=True)
        if is_remote():
            self._spark.client.close()


def _local_session() -> SparkSession:
    """A session of its own in local mode; the first one starts Spark, later ones share it."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running.newSession()
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    settings = {
        "spark.app.name": "tidings",
        "spark.master": os.environ.get("TIDINGS_SPARK_MASTER", "local[*]"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.buffer.pageSize": "1m",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.driver.memory": os.environ.get("TIDINGS_SPARK_MEMORY", "4g"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    started: SparkSession = builder.getOrCreate()
    return started.newSession()


def _type_text(type: DataType) -> str:
    """A Spark type as :mod:`tidings.ir.types` writes it."""
    match type:
        case StructType():
            fields = (f"{types.field_name(f.name)}:{_type_text(f.dataType)}" for f in type.fields)
            return f"struct<{','.join(fields)}>"
        case ArrayType():
            return f"array<{_type_text(type.elementType)}>"
        case MapType():
            return f"map<{_type_text(type.keyType)},{_type_text(type.valueType)}>"
        case _:
            return type.simpleString()


def _quiet() -> AbstractContextManager[None]:
    """Keep PySpark from logging a failed query with the whole Java stack."""
    PySparkLogger.getLogger(_QUERY_LOG)  # so that the logger is of PySpark's own kind, whoever asks first
    return quiet(_QUERY_LOG)


def _view(base: str) -> str:
    return _quoted(f"__base_{base}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _sentence(error: Exception) -> str:
    """What Spark says, without the plan and the stack below it."""
    text = str(error).split("\n")[0].split("; line ")[0].split(" SQLSTATE:")[0]
    return text.strip()


def _fragment(error: PySparkException) -> str | None:
    contexts = error.getQueryContext() or []
    return contexts[0].fragment() or None if contexts else None

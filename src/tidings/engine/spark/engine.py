"""A Spark session as an engine: analysis, sources under names, queries and files."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote
from sqlglot import exp

from tidings.engine.analyses import Analyses
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Jobs
from tidings.engine.base_lookup import BaseLookup, lookup_answers, lookup_query
from tidings.engine.changes import as_changes, no_changes
from tidings.engine.location import Location
from tidings.engine.scalar_function import ScalarFunction
from tidings.engine.scratch import Scratch
from tidings.engine.source import Source
from tidings.engine.spark.bases import FEW_ROWS, Bases
from tidings.engine.spark.hashed_lookups import KEYS, hashed_query, is_hashed, key_rows
from tidings.engine.spark.java import require_java
from tidings.engine.spark.lazy_session import LazySession
from tidings.engine.spark.session import (
    analysis_fingerprint,
    arrow_rows,
    fragment,
    local_session,
    quiet_session,
    quoted,
    relation_columns,
    scratch_of,
    sentence,
    type_text,
)
from tidings.engine.spark.states import state
from tidings.engine.spark.vectorised import vectorised_udf
from tidings.engine.spark.workload import Work, Workload
from tidings.engine.speeds import SPARK
from tidings.engine.sql.dialect import Dialect, printed
from tidings.engine.stepping_out import SteppingOut
from tidings.errors import SparkStopped
from tidings.ir import types
from tidings.ir.expression import TIME, WEIGHT, typed_null
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed
from tidings.lang.sql.table_operator import TableOperator

_NOTHING = pa.table({"nothing": pa.array([], pa.int32())})

_ROW_GROUP = 1 << 20
"""Bytes per row group of a snapshot: single rows are looked up in them."""


class _Registered(NamedTuple):
    """What a name stands for, and what to release when it stands for something else."""

    source: Source
    scratch: ExitStack


def own_session(session: SparkSession | None) -> LazySession:
    """A session for an engine alone: beside one of the user's, or of a Spark that is started when it is needed."""
    beside = SparkSession.getActiveSession() if session is None else session
    if beside is not None:
        return LazySession(beside.newSession, beside)
    require_java()
    return LazySession(local_session)


class Spark:
    """A Spark session of its own; see :class:`tidings.engine.backend.Backend`."""

    name = "spark"
    looks_up_first = True
    usual = SPARK
    dialect = Dialect("spark", casts_items=False, one_task=True, halves=True, generates=True)

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        caching: bool = True,
        shared: Location | None = None,
        own: LazySession | None = None,
    ) -> None:
        self._parent = session
        self._session = own or own_session(session)
        self.analyses: Analyses | None
        self.analyses = self._analyses = Analyses(analysis_fingerprint() if self._session.is_alone else None)
        self._shared = shared
        self._caching = caching
        self._bases_made: Bases | None = None
        self._scratch: Scratch | None = None
        self._workload = Workload(self._session)
        self._registered: dict[str, _Registered] = {}
        self._functions: dict[str, ScalarFunction] = {}
        self._operators: dict[str, TableOperator] = {}

    @property
    def session(self) -> SparkSession:
        """The session this engine works in."""
        return self._session()

    @property
    def user_session(self) -> SparkSession:
        """The session the database was opened with; this engine's own if there was none."""
        return self._session() if self._parent is None else self._parent

    @property
    def scratch(self) -> Scratch | None:
        if self._scratch is None:
            with self._failures_named():
                self._scratch = scratch_of(self._session(), self._shared)
        return self._scratch

    @property
    def _bases(self) -> Bases:
        if self._bases_made is None:
            self._bases_made = Bases(self._session, lambda: self.scratch, caching=self._caching)
        return self._bases_made

    def _failures_named(self, but: type[Exception] | None = None) -> AbstractContextManager[None]:
        return self._session.failures_named(but)

    def base(self, name: str) -> DataFrame:
        """The base rows of a relation."""
        return self._bases[name]

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        calls = list(query.find_all(exp.Anonymous))
        for call in calls if self._functions else ():
            function = self._functions.get(str(call.this).lower())
            if function is not None and len(function.takes) != len(call.expressions):
                reason = f"{function.name} takes {len(function.takes)} arguments, not {len(call.expressions)}"
                raise AnalysisFailed(reason, call.sql(self.dialect.name))
        text = printed(query, self.dialect)
        known = None if calls else self._analyses.columns(text)
        if known is not None:
            return known
        try:
            with self._failures_named(but=AnalysisException), quiet_session():
                schema = self._session().sql(text).schema
        except AnalysisException as error:
            raise AnalysisFailed(sentence(error), fragment(error)) from None
        columns = tuple(Column(f.name, type_text(f.dataType)) for f in schema.fields)
        if not calls:
            self._analyses.add(text, columns)
        return columns

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> tuple[str, ...] | None:
        stand_ins = []
        for relation, columns in relations.items():
            nulls = (typed_null(c.type).as_(c.name, quoted=True) for c in columns)
            stand_ins.append(f"{quoted(relation)} AS ({printed(exp.select(*nulls), self.dialect)})")
        prefix = f"WITH {', '.join(stand_ins)} " if stand_ins else ""
        query = f"{prefix}SELECT * FROM (\n{text}\n)"
        known = self._analyses.columns(query)
        if known is None:
            try:
                with self._failures_named(but=PySparkException), quiet_session():
                    known = tuple(Column(name, "") for name in self._session().sql(query).columns)
            except PySparkException:
                return None
            self._analyses.add(query, known)
        return tuple(c.name for c in known)

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        self.unload(name)
        with self._workload.cancellable(), self._failures_named():
            if not isinstance(data, pa.Table):
                self._workload.begin(Work.SORT)
            return self._bases.load(name, columns, data, sorted_by)

    def offer(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        self.unload(name)
        with self._failures_named():
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
        with suppress(SparkStopped), self._failures_named():  # a Spark that was stopped holds nothing
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
        with self._failures_named(), ExitStack() as scratch:
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
            frames.append(self._session().read.parquet(changes.pattern))
        elif changes.num_rows or not frames:
            frames.append(self._bases.local(changes, scratch))
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        return self._fetch(text, Work.SMALL if small else Work.LARGE, columns)

    def fetch_answer(self, text: str, columns: tuple[Column, ...], step_out: SteppingOut) -> pa.Table:
        return self.fetch(text, columns)  # names of the session stand for other rows as soon as others are in

    def _fetch(self, text: str, work: Work, columns: tuple[Column, ...] = ()) -> pa.Table:
        nested = {c.name: c.type for c in columns if types.is_nested(c.type)}
        try:
            with self._workload.cancellable(), self._failures_named(), quiet_session():
                self._workload.begin(work)
                return arrow_rows(self._session(), text, nested)
        finally:
            self._step_back()

    def _step_back(self) -> None:
        """Leave a session of the user's as the active one again, which creating frames in ours has changed."""
        if self._parent is not None and not is_remote():
            with suppress(SparkStopped), self._failures_named():
                self._workload.begin(Work.LARGE)
                self._parent.createDataFrame(_NOTHING)

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        with self._failures_named():
            views = [self._bases.view(lookup.base) for lookup in lookups]
        if any(map(is_hashed, lookups)):
            with self._failures_named(), ExitStack() as scratch:
                self._bases.local(key_rows(lookups), scratch).createOrReplaceTempView(KEYS)
                return lookup_answers(self._fetch(hashed_query(lookups, views), Work.SCAN), lookups)
        text = lookup_query(lookups, views, self.dialect.name)
        return lookup_answers(self._fetch(f"SELECT /*+ COALESCE(1) */ * FROM (\n{text}\n)", Work.SMALL), lookups)

    def counted(self) -> AbstractContextManager[Jobs]:
        return self._workload.counted()

    def stoppable(self) -> AbstractContextManager[Callable[[], object]]:
        return self._workload.stoppable()

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        with self._workload.cancellable(), self._failures_named(), quiet_session():
            self._workload.begin(Work.SORT)
            rows = self._session().sql(text).sort(quoted(sorted_by))
            writer = rows.write.option("maxRecordsPerFile", rows_per_file).option("compression", "zstd")
            writer.option("parquet.block.size", _ROW_GROUP).parquet(path.url)

    def write(self, text: str, path: Location) -> None:
        with self._workload.cancellable(), self._failures_named(), quiet_session():
            self._workload.begin(Work.LARGE)
            self._session().sql(text).write.parquet(path.url)

    def register(self, function: ScalarFunction) -> None:
        with self._failures_named():
            self._session().udf.register(function.name, vectorised_udf(function))
        self._functions[function.name] = function
        if function.operator is not None:
            self._operators[function.operator.name] = function.operator

    def has_function(self, name: str) -> bool:
        with self._failures_named():
            return name not in self._functions and self._session().catalog.functionExists(name)

    def is_added(self, name: str) -> bool:
        return any(name.lower() == added.lower() for added in self._functions)

    def operator(self, name: str) -> TableOperator | None:
        return self._operators.get(name.lower())

    def session_columns(self, name: str) -> tuple[Column, ...] | None:
        return None if (session := self._session.beside) is None else relation_columns(session, name)

    @contextmanager
    def session_source(self, name: str, columns: tuple[Column, ...]) -> Iterator[Source]:
        with self._failures_named():
            frame = self._of_session(name)
            few = frame.limit(FEW_ROWS + 1).toArrow()
        if few.num_rows <= FEW_ROWS:
            yield Source(columns, None, as_changes(columns, conform(few, arrow_schema(columns))))
            return
        base = f"__session {name} {uuid.uuid4().hex}"
        self.offer(base, columns, frame)
        try:
            yield Source(columns, base, no_changes(columns))
        finally:
            self.unload(base)

    def session_rows(self, name: str, columns: tuple[Column, ...]) -> pa.Table:
        with self._failures_named():
            return conform(self._of_session(name).toArrow(), arrow_schema(columns))

    def _of_session(self, name: str) -> DataFrame:
        assert self._session.beside is not None
        return self._session.beside.table(name)

    def sibling(self) -> Spark:
        return Spark(self._parent, caching=False, shared=self._shared, own=self._session.sibling())

    def close(self) -> None:
        if self._session.is_made and not self._session.is_stopped:
            for registered in self._registered.values():
                registered.scratch.close()
            self._bases.close()
            if is_remote():
                self._session().client.close()
        if self._scratch is not None:
            self._scratch.close()

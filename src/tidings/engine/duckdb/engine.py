"""A DuckDB in memory as an engine: analysis, sources under names, queries and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.func import FunctionNullHandling, PythonUDFType
from pyarrow.dataset import dataset
from sqlglot import exp

from tidings.analysis.functions import function_name
from tidings.engine.agreed.analysis import analysed
from tidings.engine.agreed.term import NotAgreed, is_call, without_errors
from tidings.engine.analyses import Analyses
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Jobs
from tidings.engine.base_lookup import BaseLookup, lookup_answers, lookup_query
from tidings.engine.duckdb.connection import DuckDBConnection, sentence
from tidings.engine.location import Location
from tidings.engine.memory import MemoryBudget
from tidings.engine.plain_rows import plain_rows, separating_column
from tidings.engine.scalar_function import ScalarFunction
from tidings.engine.scratch import Scratch
from tidings.engine.source import Source
from tidings.engine.spark_typing import spark_name, with_typed_nulls
from tidings.engine.speeds import DUCKDB
from tidings.engine.sql.dialect import Dialect, Signature, printed
from tidings.engine.sql.quoting import quoted, text_literal
from tidings.engine.stepping_out import SteppingOut
from tidings.errors import EngineFailed
from tidings.ir import types
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed, SparkAlone
from tidings.lang.sql.table_operator import TableOperator
from tidings.quiet import quiet

_ROW_GROUP = 20_000
"""Rows per row group of a snapshot: single rows are looked up in them."""

_ASIDES = 3
"""So many answers may be computed while other threads go on."""

_PATTERN = frozenset("*?[")
"""Characters that DuckDB takes for those of a pattern of paths."""

_NO_FUNCTION = ("No function matches", "Could not choose a best candidate function")
"""What DuckDB says where Spark would cast the arguments."""


class DuckDB:
    """An in-process DuckDB connection; see :class:`tidings.engine.backend.Backend`."""

    name = "duckdb"
    looks_up_first = False
    usual = DUCKDB
    dialect = Dialect("duckdb", casts_items=True, one_task=False, in_words=True)
    analyses: Analyses | None = None

    def __init__(
        self,
        threads: int = 1,
        memory: int | None = None,
        folder: Location | None = None,
        scratch: Location | None = None,
    ) -> None:
        self._folder, self._scratch = folder, scratch
        self._registered: dict[str, Source] = {}
        self._holds = False
        self._memory = memory
        self._functions: dict[str, Signature] = {}
        self.dialect = replace(DuckDB.dialect, own=self._functions)
        self._operators: dict[str, TableOperator] = {}
        self._remote: set[str] = set()
        """Bases that are read through Arrow."""
        self._connection = DuckDBConnection(threads, memory, folder=folder, scratch=scratch, asides=_ASIDES)
        self.held_limit = (MemoryBudget().engine() if memory is None else memory) * 2 // 3
        """So many bytes of columns may be held, counted before they are compressed."""
        self.scratch: Scratch | None = Scratch()

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        alone: NotAgreed | None = None
        kinds: list[str] = []
        try:
            translated, kinds = analysed(query, self._functions)
        except NotAgreed as refused:
            translated, alone = with_typed_nulls(query), refused
        try:  # what is wrong with a query as Spark's too, DuckDB says first
            with quiet("sqlglot"):
                text = printed(translated, self.dialect)
            self._connection.inner.execute(f"DESCRIBE {without_errors(text)}").fetchall()
        except duckdb.Error as error:
            is_sparks = alone is not None and (is_call(alone.node) or any(s in str(error) for s in _NO_FUNCTION))
            if alone is None or not is_sparks or function_name(alone.node) in self._functions:
                raise AnalysisFailed(sentence(error)) from None
        if alone is not None:
            raise SparkAlone(alone.node)
        names = [spark_name(e) for e in query.selects]
        if len(names) != len(kinds):
            names = [f"col{n}" for n, _ in enumerate(kinds, 1)]
        return tuple(Column(n, kind) for n, kind in zip(names, kinds, strict=True))

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> None:
        """DuckDB does not read Spark's SQL; names stay as :meth:`analyze` guesses them."""

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        if not isinstance(data, pa.Table):
            raise EngineFailed(engine=self.name, reason=f"a base must be an Arrow table, not {type(data).__name__}")
        table = conform(data, arrow_schema(columns))
        sortable = {c.name for c in columns if not types.is_nested(c.type)}
        self._connection.copy(_base(name), table.sort_by(sorted_by) if sorted_by in sortable else table)
        return int(table.num_rows)

    def offer(self, name: str, columns: tuple[Column, ...], data: object) -> None:
        self.load(name, columns, data, sorted_by="")

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
        if not paths:
            self._connection.copy(_base(name), arrow_schema(columns).empty_table())
            return
        names = [_names((c,)).removesuffix(", ") for c in columns]
        read = [_as_declared(sql, c.type) for sql, c in zip(read or names, columns, strict=True)]
        selected = ", ".join(f"{sql} AS {n}" for sql, n in zip(read, names, strict=True))
        self._connection.view(_base(name), f"SELECT {selected} FROM {self._files(name, paths)}")

    def _files(self, name: str, paths: list[Location]) -> str:
        """The rows of Parquet files: DuckDB reads those of this machine itself, others through Arrow.

        It takes some characters of a path for those of a pattern, so files in such folders are read through Arrow too.
        It pushes filters into what Arrow reads, some that Arrow cannot do, and there a NaN is not the greatest number.
        So columns are hidden from filters.
        """
        if all(self._connection.reaches(path) and not _PATTERN & set(path.path) for path in paths):
            listed = ", ".join(text_literal(path.path) for path in paths)
            return f"read_parquet([{listed}], hive_partitioning = false)"
        files = dataset([path.path for path in paths], filesystem=paths[0].filesystem, format="parquet")
        self._connection.inner.register(f"{_base(name)}#files", files)
        self._remote.add(name)
        columns = [_names((Column(column, ""),)).removesuffix(", ") for column in files.schema.names]
        hidden = ", ".join(f"coalesce({column}, {column}) AS {column}" for column in columns)
        return f"(SELECT {hidden} FROM {_quoted(f'{_base(name)}#files')})"

    def hold(self, name: str, columns: tuple[Column, ...], base: str) -> None:
        """Keep some columns of a base in memory, compressed, as a base of their own."""
        self.unload(name)
        if not self._holds:
            self._connection.attach("held")
            self._holds = True
        listed = _names(columns).removesuffix(", ")
        table = f"held.{_quoted(_base(name))}"
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {listed} FROM {_quoted(_base(base))}")
        with suppress(EngineFailed):  # which compresses; it is done with a later base if an answer is computed now
            self._connection.execute("CHECKPOINT held")
        self._connection.view(_base(name), f"FROM {table}")

    def save(self, text: str, path: Location, sorted_by: str, rows_per_file: int) -> None:
        path.filesystem.create_dir(path.path, recursive=True)
        key = _names((Column(sorted_by, ""),)).rstrip(", ")
        rows, file = f"SELECT * FROM ({text}) ORDER BY {key}", path / "part-00000.parquet"
        if self._connection.reaches(file):
            options = f"FORMAT PARQUET, COMPRESSION ZSTD, ROW_GROUP_SIZE {_ROW_GROUP}"
            self._connection.execute(f"COPY ({rows}) TO {text_literal(file.path)} ({options})")
        else:
            answer, filesystem = self.fetch(rows), file.filesystem
            pq.write_table(answer, file.path, filesystem=filesystem, compression="zstd", row_group_size=_ROW_GROUP)

    def unload(self, name: str) -> None:
        self._registered = {n: s for n, s in self._registered.items() if s.base != name}
        tables = self._connection.inner.execute(
            "SELECT table_catalog, table_type FROM information_schema.tables WHERE table_name = ?", [_base(name)]
        )
        for catalog, kind in tables.fetchall():
            word = "VIEW" if kind == "VIEW" else "TABLE"
            self._connection.execute(f"DROP {word} {_quoted(catalog)}.{_quoted(_base(name))}")
        if name in self._remote:
            self._connection.inner.unregister(f"{_base(name)}#files")
            self._remote.remove(name)

    def versioned(self, name: str, source: Source) -> None:
        if self._registered.get(name) is source:
            return
        self._registered.pop(name, None)  # what fails half-way has replaced the rows below the view that is there
        if isinstance(source.changes, Location):
            changes = pq.read_table(source.changes.path, filesystem=source.changes.filesystem)
            self._connection.copy(f"{name}__changes", changes)
        else:
            self._connection.copy(f"{name}__changes", source.changes)
        columns = _names(source.columns)
        rows = f'SELECT {columns}"{TIME}", "{WEIGHT}" FROM {_quoted(f"{name}__changes")}'
        if source.base is not None:
            rows = f'SELECT {columns}0 AS "{TIME}", 1 AS "{WEIGHT}" FROM {_quoted(_base(source.base))} UNION ALL {rows}'
        self._connection.view(name, rows)
        self._registered[name] = source

    def plain(self, name: str, source: Source) -> None:
        if self._registered.get(name) is source:
            return
        self._registered.pop(name, None)  # what fails half-way has replaced the rows below the view that is there
        came, went = plain_rows(source.changes, has_base=source.base is not None)
        self._connection.copy(f"{name}__came", came)
        columns = _names(source.columns).removesuffix(", ") or "1"
        rows = f"SELECT {columns} FROM {_quoted(f'{name}__came')}"
        if source.base is not None:
            rows = f"SELECT {columns} FROM {_quoted(_base(source.base))} UNION ALL {rows}"
        if went.num_rows:
            self._connection.copy(f"{name}__went", went)
            rows = self._without(name, rows, columns, separating_column(went, source.columns))
        self._connection.view(name, rows)
        self._registered[name] = source

    def _without(self, name: str, rows: str, columns: str, part: Column | None) -> str:
        """Rows without those that went; the few that one of these may equal are gone through first."""
        went, kept = _quoted(f"{name}__went"), _quoted(f"{name}__left")
        if part is None:
            return f"({rows}) EXCEPT ALL SELECT {columns} FROM {went}"
        key = _names((part,)).removesuffix(", ")
        met = f"SELECT {columns} FROM ({rows}) WHERE {key} IN (SELECT {key} FROM {went})"
        left = f"({met}) EXCEPT ALL SELECT {columns} FROM {went}"
        self._connection.execute(f"CREATE OR REPLACE TABLE {kept} AS {left}")
        others = f"SELECT {columns} FROM ({rows}) AS r ANTI JOIN {went} AS w ON r.{key} = w.{key}"
        return f"{others} UNION ALL SELECT {columns} FROM {kept}"

    def write(self, text: str, path: Location) -> None:
        pq.write_table(self.fetch(text), path.path, filesystem=path.filesystem)

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        return self._connection.fetch(text)

    def fetch_answer(self, text: str, columns: tuple[Column, ...], step_out: SteppingOut) -> pa.Table:
        if self._functions:  # code of users is called by one thread at a time
            return self.fetch(text, columns)
        return self._connection.fetch_aside(text, step_out)

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        views = [_quoted(_base(lookup.base)) for lookup in lookups]
        return lookup_answers(self.fetch(lookup_query(lookups, views, self.dialect.name)), lookups)

    def counted(self) -> AbstractContextManager[Jobs]:
        return nullcontext(Jobs())

    def stoppable(self) -> AbstractContextManager[Callable[[], object]]:
        return nullcontext(self._connection.interrupt)

    def register(self, function: ScalarFunction) -> None:
        if function.name.lower() in self._functions:
            self._connection.inner.remove_function(function.name)
        inner = self._connection.inner
        inner.create_function(
            function.name,
            function.vectorised(),
            [inner.type(_duckdb_type(type)) for type in function.takes],
            inner.type(_duckdb_type(function.returns)),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )
        self._functions[function.name.lower()] = (function.takes, function.returns)
        if function.operator is not None:
            self._operators[function.operator.name] = function.operator

    def has_function(self, name: str) -> bool:
        found = "SELECT 1 FROM duckdb_functions() WHERE lower(function_name) = ?"
        return name.lower() not in self._functions and bool(self._connection.inner.execute(found, [name]).fetchall())

    def is_added(self, name: str) -> bool:
        return name.lower() in self._functions

    def operator(self, name: str) -> TableOperator | None:
        return self._operators.get(name.lower())

    def session_columns(self, name: str) -> None:
        """There is no session of the user's."""

    def session_source(self, name: str, columns: tuple[Column, ...]) -> AbstractContextManager[Source]:
        raise AssertionError("nothing is known of a session")

    def session_rows(self, name: str, columns: tuple[Column, ...]) -> pa.Table:
        raise AssertionError("nothing is known of a session")

    def sibling(self) -> DuckDB:
        return DuckDB(memory=self._memory, folder=self._folder, scratch=self._scratch)

    def over(self, name: str, rows: pa.Table, text: str) -> pa.Table:
        """The answer of a query that reads nothing but some rows, by a name, one by one; they are not copied."""
        self._connection.inner.register(name, rows)
        try:
            return self.fetch(text)
        finally:
            self._connection.inner.unregister(name)

    def close(self) -> None:
        self._connection.close()
        if self.scratch is not None:
            self.scratch.close()


def _as_declared(sql: str, type: str) -> str:
    """A column of a file as a number of its type: the file may be older than the type, and have a narrower one."""
    is_number = type in types.INTEGRAL or type in ("float", "double") or types.decimal(type) is not None
    return f"CAST({sql} AS {type})" if is_number else sql


def _base(name: str) -> str:
    return f"__base_{name}"


def _duckdb_type(type: str) -> str:
    """DuckDB's name of a type."""
    return types.parse(type).sql("duckdb")


def _quoted(name: str) -> str:
    return quoted(name, "duckdb")


def _names(columns: tuple[Column, ...]) -> str:
    return "".join(f"{_quoted(c.name)}, " for c in columns)

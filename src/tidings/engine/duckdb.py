"""DuckDB as an engine: no JVM, milliseconds per plan; for tests and for data that fits one process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Jobs
from tidings.engine.base_lookup import BaseLookup, lookup_answers, lookup_query
from tidings.engine.lower import Dialect, printed
from tidings.engine.plain_rows import plain_rows, separating_column
from tidings.engine.source import Source
from tidings.errors import EngineFailed
from tidings.ir import types
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column
from tidings.lang.sql.bind import AnalysisFailed


class DuckDB:
    """An in-process DuckDB connection; see :class:`tidings.engine.backend.Backend`."""

    name = "duckdb"
    fixed_cost = 0
    dialect = Dialect("duckdb", casts_items=True, one_task=False)

    def __init__(self, threads: int = 1, memory: int | None = None) -> None:
        self._registered: dict[str, Source] = {}
        self._holds = False
        limit = {} if memory is None else {"memory_limit": f"{memory}B", "temp_directory": ""}
        self._connection = duckdb.connect(":memory:", config={"threads": threads, **limit})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET order_by_non_integer_literal = true")  # as in Spark

    def analyze(self, query: exp.Query) -> tuple[Column, ...]:
        text = printed(_with_types(query), self.dialect)
        try:
            described = self._connection.execute(f"DESCRIBE {text}").fetchall()
        except duckdb.Error as error:
            raise AnalysisFailed(_sentence(error)) from None
        names = [_spark_name(e) for e in query.selects]
        found = [Column(name, _spark_type(type)) for name, type, *_ in described]
        return (
            tuple(Column(n, c.type) for n, c in zip(names, found, strict=True))
            if len(names) == len(found)
            else tuple(found)
        )

    def names(self, text: str, relations: Mapping[str, tuple[Column, ...]]) -> None:
        """DuckDB does not read Spark's SQL; names stay as :meth:`analyze` guesses them."""

    def load(self, name: str, columns: tuple[Column, ...], data: object, sorted_by: str) -> int:
        if not isinstance(data, pa.Table):
            raise EngineFailed(engine=self.name, reason=f"a base must be an Arrow table, not {type(data).__name__}")
        table = conform(data, arrow_schema(columns))
        sortable = {c.name for c in columns if not types.is_nested(c.type)}
        self._copy(_base(name), table.sort_by(sorted_by) if sorted_by in sortable else table)
        return int(table.num_rows)

    def load_files(
        self, name: str, columns: tuple[Column, ...], paths: list[Path], read: list[str] | None = None
    ) -> None:
        self.unload(name)
        if not paths:
            self._copy(_base(name), arrow_schema(columns).empty_table())
            return
        listed = ", ".join(_text(str(p)) for p in paths)
        names = [_names((c,)).removesuffix(", ") for c in columns]
        wanted = ", ".join(f"{own} AS {n}" for own, n in zip(read, names, strict=True)) if read else ", ".join(names)
        self._view(_base(name), f"SELECT {wanted} FROM read_parquet([{listed}])")

    def hold(self, name: str, columns: tuple[Column, ...], base: str) -> None:
        """Keep some columns of a base in memory, compressed, as a base of their own."""
        self.unload(name)
        if not self._holds:
            self._connection.execute("ATTACH ':memory:' AS held (COMPRESS)")
            self._holds = True
        listed = _names(columns).removesuffix(", ")
        own = f'held."{_base(name)}"'
        self._execute(f'CREATE OR REPLACE TABLE {own} AS SELECT {listed} FROM "{_base(base)}"')
        self._execute("CHECKPOINT held")
        self._view(_base(name), f"FROM {own}")

    def save(self, text: str, path: Path, sorted_by: str, rows_per_file: int) -> None:
        path.mkdir(parents=True)
        key = _names((Column(sorted_by, ""),)).rstrip(", ")
        target = _text(str(path / "part-00000.parquet"))
        options = "FORMAT PARQUET, COMPRESSION ZSTD, ROW_GROUP_SIZE 20000"
        self._execute(f"COPY (SELECT * FROM ({text}) ORDER BY {key}) TO {target} ({options})")

    def unload(self, name: str) -> None:
        self._registered = {n: s for n, s in self._registered.items() if s.base != name}
        found = self._connection.execute(
            "SELECT table_catalog, table_type FROM information_schema.tables WHERE table_name = ?", [_base(name)]
        )
        for catalog, kind in found.fetchall():
            self._connection.execute(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} {catalog}."{_base(name)}"')

    def versioned(self, name: str, source: Source) -> None:
        if self._registered.get(name) is source:
            return
        if isinstance(source.changes, Path):
            self._copy(f"{name}__changes", pq.read_table(source.changes))
        else:
            self._copy(f"{name}__changes", source.changes)
        columns = _names(source.columns)
        rows = f'SELECT {columns}"{TIME}", "{WEIGHT}" FROM "{name}__changes"'
        if source.base is not None:
            rows = f'SELECT {columns}0 AS "{TIME}", 1 AS "{WEIGHT}" FROM "{_base(source.base)}" UNION ALL {rows}'
        self._view(name, rows)
        self._registered[name] = source

    def plain(self, name: str, source: Source) -> None:
        came, went = plain_rows(source.changes, has_base=source.base is not None)
        self._copy(f"{name}__came", came)
        columns = _names(source.columns).removesuffix(", ") or "1"
        rows = f'SELECT {columns} FROM "{name}__came"'
        if source.base is not None:
            rows = f'SELECT {columns} FROM "{_base(source.base)}" UNION ALL {rows}'
        if went.num_rows:
            self._copy(f"{name}__went", went)
            rows = self._without(name, rows, columns, separating_column(went, source.columns))
        self._view(name, rows)

    def _without(self, name: str, rows: str, columns: str, part: Column | None) -> str:
        """Rows without those that went; the few that one of these may equal are gone through first."""
        if part is None:
            return f'({rows}) EXCEPT ALL SELECT {columns} FROM "{name}__went"'
        key = _names((part,)).removesuffix(", ")
        met = f'SELECT {columns} FROM ({rows}) WHERE {key} IN (SELECT {key} FROM "{name}__went")'
        left = f'({met}) EXCEPT ALL SELECT {columns} FROM "{name}__went"'
        self._execute(f'CREATE OR REPLACE TEMP TABLE "{name}__left" AS {left}')
        others = f'SELECT {columns} FROM ({rows}) AS r ANTI JOIN "{name}__went" AS w ON r.{key} = w.{key}'
        return f'{others} UNION ALL SELECT {columns} FROM "{name}__left"'

    def write(self, text: str, path: Path) -> None:
        path.mkdir()
        pq.write_table(self.fetch(text), path / "rows.parquet")

    def fetch(self, text: str, columns: tuple[Column, ...] = (), *, small: bool = False) -> pa.Table:
        try:
            return self._rows(text)
        except duckdb.Error as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None

    def look_up(self, lookups: list[BaseLookup]) -> list[pa.Table]:
        views = [f'"{_base(lookup.base)}"' for lookup in lookups]
        return lookup_answers(self.fetch(lookup_query(lookups, views, self.dialect.name)), lookups)

    def counted(self) -> AbstractContextManager[Jobs]:
        return nullcontext(Jobs())

    def _rows(self, text: str) -> pa.Table:
        """The rows of a query; without the pass of DuckDB's optimizer that fails on it, if one does.

        DuckDB 1.5 loses columns when it reorders some joins of many restricted inputs under an OR over several of them
        ("Failed to bind column reference").  The order of a delta plan, the delta first, is a good one already.  It
        also loses one when it simplifies a semi join by two equalities with the same column of a window; others are
        ten times faster for it.
        """
        try:
            return self._connection.execute(text).to_arrow_table()
        except duckdb.InternalException:
            failing = "join_order"
        except duckdb.Error as error:
            if str(error) != "unordered_map::at":
                raise
            failing = "deliminator"
        self._connection.execute(f"SET disabled_optimizers = '{failing}'")
        try:
            return self._connection.execute(text).to_arrow_table()
        finally:
            self._connection.execute("RESET disabled_optimizers")

    def sibling(self) -> DuckDB:
        return DuckDB()

    def over(self, name: str, rows: pa.Table, text: str) -> pa.Table:
        """The answer of a query that reads nothing but some rows, by a name, one by one; they are not copied."""
        self._connection.register(name, rows)
        try:
            return self.fetch(text)
        finally:
            self._connection.unregister(name)

    def close(self) -> None:
        self._connection.close()

    def _copy(self, name: str, rows: pa.Table) -> None:
        """Keep rows as a table of DuckDB's own.

        It could read Arrow in place, but pushes filters of joins into such scans, where a NaN equals nothing.
        """
        self._connection.register("__arrow", rows)
        try:
            self._execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS FROM "__arrow"')
        finally:
            self._connection.unregister("__arrow")

    def _execute(self, text: str) -> None:
        """Run a statement that may fail for what there is: too little memory, say."""
        try:
            self._connection.execute(text)
        except duckdb.Error as error:
            raise EngineFailed(engine=self.name, reason=_sentence(error)) from None

    def _view(self, name: str, rows: str) -> None:
        self._connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {rows}')


def _base(name: str) -> str:
    return f"__base_{name}"


def _names(columns: tuple[Column, ...]) -> str:
    return "".join('"' + c.name.replace('"', '""') + '", ' for c in columns)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _sentence(error: Exception) -> str:
    return str(error).splitlines()[0].removeprefix("Binder Error: ").removeprefix("Catalog Error: ")


def _with_types(query: exp.Query) -> exp.Query:
    """A query in which no typed NULL is a constant.

    DuckDB evaluates an operation with a constant NULL while it binds it, and forgets its type: it says INTEGER of
    ``s || CAST(NULL AS TEXT)``.  Such NULLs stand for columns of a query around the one that is analysed.
    """

    def unknown(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Null) and not isinstance(node.parent, exp.Alias):
            never = exp.If(this=exp.LT(this=exp.Rand(), expression=exp.Literal.number(0)), true=exp.Null())
            return exp.Cast(this=exp.Case(ifs=[never]), to=node.args["to"])
        return node

    if query.find(exp.Null) is None:
        return query
    typed = query.transform(unknown)
    assert isinstance(typed, exp.Query)
    return typed


def _spark_type(type: str) -> str:
    """A DuckDB type by its Spark name."""
    if type == '"NULL"':
        return "void"
    if type in ("HUGEINT", "UHUGEINT", "UBIGINT"):
        return "decimal(38,0)"
    return types.canonical(exp.DataType.build(type, dialect="duckdb"))


def _spark_name(item: exp.Expr) -> str:
    """The name Spark gives an output column, as far as its text shows."""
    if isinstance(item, exp.Alias | exp.Column | exp.Dot):
        return item.alias_or_name
    bare = item.transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    text = bare.sql(DIALECT)
    return f"({text})" if isinstance(item, exp.Binary) else text

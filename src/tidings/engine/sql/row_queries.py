"""Queries for the rows of sources and files, as the text of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from tidings.engine.backend import Backend
from tidings.engine.source import Source
from tidings.engine.sql.dialect import printed
from tidings.engine.sql.literals import literals
from tidings.engine.sql.quoting import engine_name, quoted
from tidings.engine.sql.scalar import scalar
from tidings.ir.expression import Expression
from tidings.ir.relation import Column


def rows_query(backend: Backend, name: str, source: Source) -> str:
    """A query for the rows of a source, which the engine can read under a name of its own from here on."""
    name = engine_name("fold", name)
    backend.plain(name, source)
    columns = (exp.column(exp.to_identifier(c.name, quoted=True)) for c in source.columns)
    return printed(exp.select(*columns).from_(name), backend.dialect)


def file_columns(
    columns: Sequence[Column], names: Sequence[str], added_values: Mapping[str, pa.Scalar], dialect: str
) -> list[str]:
    """For each column, the SQL by which an engine reads it from files that have the first columns, under some names.

    A column that the files do not have is a constant: what ``added_values`` says, else NULL.

    >>> file_columns([Column("x", "bigint"), Column("y", "int")], ["a"], {"y": pa.scalar(5, pa.int32())}, "duckdb")
    ['"a"', '5']
    """
    present = [quoted(name, dialect) for name in names]
    missing = columns[len(names) :]
    return [*present, *(_constant(added_values.get(c.name), c.type, dialect) for c in missing)]


def _constant(value: pa.Scalar | None, type: str, dialect: str) -> str:
    return literals(pa.chunked_array([[None if value is None else value.as_py()]]), type, dialect)


def values_query(relation: str, alias: str, expressions: Sequence[tuple[Expression, str]]) -> str:
    """A query of DuckDB for expressions over the rows of a relation, each as a type; its columns are c0, c1, …

    >>> from tidings.ir.expression import read
    >>> values_query("some rows", "r", [(read("r.x + 1"), "bigint")])
    'SELECT CAST("r"."x" + 1 AS BIGINT) AS c0 FROM "some rows" AS "r"'
    """
    items = (f"{scalar(e, 'duckdb', True, {}, type)} AS c{n}" for n, (e, type) in enumerate(expressions))
    return f"SELECT {', '.join(items)} FROM {quoted(relation, 'duckdb')} AS {quoted(alias, 'duckdb')}"

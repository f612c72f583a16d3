"""Spark types as Arrow types: the form in which rows travel between users, engines and logs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
from sqlglot import exp

from tidings.errors import UnsupportedType
from tidings.ir import types
from tidings.ir.relation import VERSION_COLUMNS, Column

_SIMPLE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


@lru_cache(maxsize=4096)
def arrow_type(type: str) -> pa.DataType:
    """The Arrow type of a Spark type.

    >>> arrow_type("array<decimal(10,2)>")
    ListType(list<item: decimal128(10, 2)>)
    """
    if type in _SIMPLE:
        return _SIMPLE[type]
    tree = types.parse(type)
    inner = [types.canonical(p) for p in tree.expressions if isinstance(p, exp.DataType)]
    if tree.this is exp.DType.DECIMAL:
        return pa.decimal128(*(int(p.name) for p in tree.expressions))
    if tree.this is exp.DType.STRUCT:
        return pa.struct([pa.field(n, arrow_type(t)) for n, t in types.fields(type)])
    if tree.this is exp.DType.ARRAY:
        return pa.list_(arrow_type(inner[0]))
    if tree.this is exp.DType.MAP:
        return pa.map_(arrow_type(inner[0]), arrow_type(inner[1]))
    raise UnsupportedType(type=type)


def arrow_schema(columns: Iterable[Column], *, versioned: bool = False) -> pa.Schema:
    """The Arrow schema of a relation; with ``versioned`` also ``__t`` and ``__w``."""
    return _schema((*columns, *VERSION_COLUMNS) if versioned else tuple(columns))


@lru_cache(maxsize=4096)
def _schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The same, made once: every wave asks."""
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns])


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these names and types."""
    table = table.rename_columns(schema.names)
    if table.schema.equals(schema):
        return table
    for n, field in enumerate(schema):
        if pa.types.is_null(field.type):  # NULLs alone, to which an engine may have given a type
            table = table.set_column(n, field, pa.nulls(table.num_rows))
    return table.cast(schema)


def without_empty_chunks(table: pa.Table) -> pa.Table:
    """The rows of a table for Spark, which takes an empty chunk for the end of it, and fails if there is none."""
    return table.combine_chunks() if table.num_rows else table.schema.empty_table()

"""Rows written before a table got the columns it has now.

Columns are added at the end and may be renamed, never moved or taken away.  So what was written earlier has a first
part of the columns, in order, perhaps under other names; the rest is filled with what ALTER TABLE said existing rows
have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tidings.engine.arrow import arrow_type
from tidings.engine.literals import literals
from tidings.engine.scalar import quoted
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column


def noted(value: object) -> str:
    """A value of a simple type as the catalog keeps it; :func:`fill` reads it.

    >>> noted(True), noted(5)
    ('true', '5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def fill(columns: Sequence[Column], added: Sequence[tuple[str, str]]) -> dict[str, pa.Scalar]:
    """What rows have in columns that were added after them, unless that is NULL.

    >>> fill([Column("a", "int"), Column("b", "decimal(4,2)")], [("b", "1.5")])
    {'b': <pyarrow.Decimal128Scalar: Decimal('1.50')>}
    """
    types = {c.name: arrow_type(c.type) for c in columns}
    return {name: pa.scalar(text).cast(types[name]) for name, text in added}


def completed(rows: pa.Table, columns: Sequence[Column], fills: Mapping[str, pa.Scalar]) -> pa.Table:
    """Rows with all columns, under the names these have now.

    >>> rows = pa.table({"a": [1], "__t": [7], "__w": [1]})
    >>> completed(rows, [Column("x", "bigint"), Column("y", "int")], {"y": pa.scalar(5, pa.int32())}).to_pylist()
    [{'x': 1, 'y': 5, '__t': 7, '__w': 1}]
    """
    versions = [n for n in (TIME, WEIGHT) if n in rows.column_names]
    held = [n for n in rows.column_names if n not in versions]
    if held == [c.name for c in columns]:
        return rows
    arrays = [rows.column(n) for n in held]
    for missing in columns[len(held) :]:
        value = fills.get(missing.name, pa.scalar(None, arrow_type(missing.type)))
        arrays.append(pa.chunked_array([pa.repeat(value, rows.num_rows)]))
    arrays += [rows.column(n) for n in versions]
    return pa.table(arrays, names=[*(c.name for c in columns), *versions])


def reading(columns: Sequence[Column], held: Sequence[str], fills: Mapping[str, pa.Scalar], dialect: str) -> list[str]:
    """For each column, the SQL by which an engine reads it from files that hold some columns.

    >>> reading([Column("x", "bigint"), Column("y", "int")], ["a"], {"y": pa.scalar(5, pa.int32())}, "duckdb")
    ['"a"', '5']
    """
    own = [quoted(name, dialect) for name in held]
    more = columns[len(held) :]
    return [*own, *(literals(pa.chunked_array([[_value(fills, c)]]), c.type, dialect) for c in more)]


def _value(fills: Mapping[str, pa.Scalar], column: Column) -> object:
    return fills[column.name].as_py() if column.name in fills else None

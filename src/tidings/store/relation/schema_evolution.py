"""Rows written before a table got the columns it has now.

Columns are added at the end and may be renamed, never moved or taken away.  So what was written earlier has a first
part of the columns, in order, perhaps under other names; the rest is filled with what ALTER TABLE said existing rows
have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tidings.engine.arrow import arrow_type
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column


def value_text(value: object) -> str:
    """A value of a simple type as the catalog keeps it; :func:`added_values` reads it.

    >>> value_text(True), value_text(5)
    ('true', '5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def added_values(columns: Sequence[Column], added: Sequence[tuple[str, str]]) -> dict[str, pa.Scalar]:
    """The values of existing rows in columns that were added after them; columns that are NULL in them are left out.

    >>> added_values([Column("a", "int"), Column("b", "decimal(4,2)")], [("b", "1.5")])
    {'b': <pyarrow.Decimal128Scalar: Decimal('1.50')>}
    """
    types = {c.name: arrow_type(c.type) for c in columns}
    return {name: pa.scalar(text).cast(types[name]) for name, text in added}


def with_current_columns(rows: pa.Table, columns: Sequence[Column], added: Mapping[str, pa.Scalar]) -> pa.Table:
    """Rows written earlier with all columns of the table, under the names these have now.

    >>> rows, columns = pa.table({"a": [1], "__t": [7], "__w": [1]}), [Column("x", "bigint"), Column("y", "int")]
    >>> with_current_columns(rows, columns, {"y": pa.scalar(5, pa.int32())}).to_pylist()
    [{'x': 1, 'y': 5, '__t': 7, '__w': 1}]
    """
    versions = [n for n in (TIME, WEIGHT) if n in rows.column_names]
    present = [n for n in rows.column_names if n not in versions]
    if present == [c.name for c in columns]:
        return rows
    arrays = [rows.column(n) for n in present]
    for missing in columns[len(present) :]:
        value = added.get(missing.name, pa.scalar(None, arrow_type(missing.type)))
        arrays.append(pa.chunked_array([pa.repeat(value, rows.num_rows)]))
    arrays += [rows.column(n) for n in versions]
    return pa.table(arrays, names=[*(c.name for c in columns), *versions])

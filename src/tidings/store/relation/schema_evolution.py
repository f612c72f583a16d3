"""Rows written before a table got the columns it has now.

Columns are added at the end, renamed and dropped, never moved.  What was written says how many columns had been dropped
by then, its *layout*, and the table remembers the places of all that were.  Without those that were dropped since, what
was written earlier has a first part of the columns, in order, perhaps under other names; the rest is filled with what
ALTER TABLE said existing rows have.  Names do not count: one that was dropped may be given to another column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from tidings.engine.arrow import arrow_type
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Rows as they were written, and how many columns had been dropped by then."""

    rows: pa.Table
    layout: int = 0


LoadWritten: TypeAlias = Callable[[int, int], list[WrittenRows]]
"""The rows of all log entries that have some from one instant to another, one by one."""


def places_kept(columns: int, dropped: Sequence[int]) -> list[int]:
    """The places of the columns that are left of so many, after some were dropped one after the other.

    >>> places_kept(4, [1, 1]), places_kept(2, [3])
    ([0, 3], [0, 1])
    """
    places = list(range(columns))
    for place in dropped:
        del places[place : place + 1]
    return places


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


def with_current_columns(
    rows: pa.Table, columns: Sequence[Column], added: Mapping[str, pa.Scalar], dropped: Sequence[int] = ()
) -> pa.Table:
    """Rows written earlier with all columns of the table, under the names these have now.

    ``dropped`` are the places of columns that were dropped since.

    >>> rows, columns = pa.table({"a": [1], "__t": [7], "__w": [1]}), [Column("x", "bigint"), Column("y", "int")]
    >>> with_current_columns(rows, columns, {"y": pa.scalar(5, pa.int32())}).to_pylist()
    [{'x': 1, 'y': 5, '__t': 7, '__w': 1}]
    >>> with_current_columns(pa.table({"a": [1], "b": [2]}), columns[:1], {}, [0]).to_pylist()
    [{'x': 2}]
    """
    versions = [n for n in (TIME, WEIGHT) if n in rows.column_names]
    written = [n for n in rows.column_names if n not in versions]
    present = [written[place] for place in places_kept(len(written), dropped)]
    if not dropped and present == [c.name for c in columns]:
        return rows
    arrays = [rows.column(n) for n in present]
    for missing in columns[len(present) :]:
        value = added.get(missing.name, pa.scalar(None, arrow_type(missing.type)))
        arrays.append(pa.chunked_array([pa.repeat(value, rows.num_rows)]))
    arrays += [rows.column(n) for n in versions]
    return pa.table(arrays, names=[*(c.name for c in columns), *versions])

"""Loading history: rows that bring the instants of their own transactions.

A table made ``WITH (append_only, time = column)`` has its instants in a column.  A load of such rows is one entry of
the log, whatever the number of instants in it, and counts as the many transactions it was: ``changes`` shows each, a
stored view is maintained through each, and ``as_of`` gives the state between any two.

There is one timeline for all tables, and an answer about an instant stays true.  So rows must be later than the last
instant that is settled, and not later than now; rows of several tables whose histories overlap are loaded together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.clock import instant
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import versioned
from tidings.errors import InvalidRow, LateRow
from tidings.store.relation.rows import read_rows
from tidings.store.relation.table import Table

TIME_TYPES = ("timestamp", "timestamp_ntz", "date", "bigint")
"""What a column of instants may be; a number counts microseconds since the epoch."""

LATE = ("refuse", "present")


def entries(histories: list[tuple[Table, Any]], *, after: int, present: int, late: str) -> list[tuple[Table, pa.Table]]:
    """The histories of some tables as changes, checked before any is logged; in the same order."""
    if late not in LATE:
        raise InvalidRow(row=1, table=histories[0][0].name, reason=f"late is one of {', '.join(LATE)}, not {late!r}")
    deltas = [(table, entry(table, data, after=after, present=present, late=late)) for table, data in histories]
    return [(table, delta) for table, delta in deltas if delta.num_rows]


def entry(table: Table, data: Any, *, after: int, present: int, late: str) -> pa.Table:
    """Changes of rows at the instants they bring; ``late`` ones are refused or take the ``present``."""
    rows = typed(table, data)
    times = instants(table, rows)
    for bad, reason in ((pc.is_null(times), "it has no time"), (pc.greater(times, present), "it lies in the future")):
        number = _first(bad)
        if number is not None:
            raise InvalidRow(row=number + 1, table=table.name, reason=f"{reason}: {_shown(rows, number)}")
    is_late = pc.less_equal(times, after)
    number = _first(is_late)
    if number is not None:
        if late != "present":
            at, last = instant(times[number].as_py()), instant(after)
            raise LateRow(row=number + 1, table=table.name, time=at.isoformat(" "), last=last.isoformat(" "))
        times = pc.if_else(is_late, pa.scalar(present, pa.int64()), times)
    ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
    return versioned(rows, times, ones)


def typed(table: Table, data: Any) -> pa.Table:
    """Rows of a table's types; those of an Arrow table or frame are not looked at one by one unless some do not fit."""
    rows = data.toArrow() if hasattr(data, "toArrow") else data
    if isinstance(rows, pa.Table):
        fitting = _by_name(table, rows)
        if fitting is not None:
            return fitting
    return read_rows(table.name, table.columns, rows)


def _by_name(table: Table, data: pa.Table) -> pa.Table | None:
    """The columns of a table from those of the same names; None where some do not fit."""
    names = {name.lower(): name for name in data.column_names}
    if len(names) != data.num_columns or names.keys() != {c.name.lower() for c in table.columns}:
        return None
    schema = arrow_schema(table.columns)
    try:
        return data.select([names[c.name.lower()] for c in table.columns]).rename_columns(schema.names).cast(schema)
    except pa.ArrowInvalid:
        return None


def instants(table: Table, rows: pa.Table) -> pa.ChunkedArray:
    """The instants of rows, in microseconds since the epoch."""
    name = table.constraints.time_column
    if name is None:
        hint = "make it WITH (append_only, time = column)"
        raise InvalidRow(None, hint, row=1, table=table.name, reason="the table does not say where instants are")
    column = next(c for c in table.columns if c.name.lower() == name.lower())
    values = rows.column(column.name)
    if column.type not in TIME_TYPES:
        reason = f"instants cannot be taken from {column.name}, which is {column.type}"
        raise InvalidRow(row=1, table=table.name, reason=reason)
    if column.type == "bigint":
        return values
    return values.cast(pa.timestamp("us")).cast(pa.int64())


def _first(bad: pa.ChunkedArray) -> int | None:
    """The place of the first row for which a test is true."""
    place = pc.index(bad, pa.scalar(True)).as_py()
    return None if place < 0 else int(place)


def _shown(rows: pa.Table, number: int) -> Mapping[str, Any]:
    (row,) = rows.slice(number, 1).to_pylist()
    return dict(row)

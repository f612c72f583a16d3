"""When rows come into tables that say so in a column.

A row of a table made ``WITH (append_only, time = column)`` that has NULL in that column gets the commit time of its
transaction.  A row may also bring an instant of its own, which need not be the one at which it comes.  As soon as one
does not, that is recorded: continuous queries over the table cannot be rewritten by its time column any more.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.constraints.enforce import NetChange
from tidings.engine.changes import without_version
from tidings.ir.expression import TIME
from tidings.store.alter import mark_constraints
from tidings.store.relation.history import instants
from tidings.store.relation.table import Table
from tidings.store.storage import Storage


def arrived(change: NetChange, time: int) -> NetChange:
    """A change whose rows have the commit time where they have none of their own."""
    name = change.table.constraints.time_column
    if name is None or not change.rows.column(name).null_count:
        return change
    column = change.rows.column(name)
    present = pa.scalar(time, pa.int64())
    if not pa.types.is_integer(column.type):
        present = present.cast(pa.timestamp("us")).cast(column.type, safe=False)
    place = change.rows.schema.get_field_index(name)
    filled = change.rows.set_column(place, change.rows.schema.field(place), pc.fill_null(column, present))
    return replace(change, rows=filled)


def note_arrivals(storage: Storage, table: Table, entry: pa.Table) -> None:
    """Record that a table has rows that came at other instants than they tell, if that is so for a log entry."""
    constraints = table.constraints
    if constraints.time_column is None or constraints.has_other_arrivals or not entry.num_rows:
        return
    same = pc.equal(instants(table, without_version(entry)), entry.column(TIME))
    if not pc.all(pc.fill_null(same, False)).as_py():
        mark_constraints(storage, table, replace(constraints, has_other_arrivals=True))

"""When rows come into tables that say so in a column.

A row of a table made ``WITH (append_only, time = column)`` that has NULL in that column gets the commit time of its
transaction.  A row may also bring an instant of its own, which need not be the one at which it comes.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.constraints.enforce import NetChange


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

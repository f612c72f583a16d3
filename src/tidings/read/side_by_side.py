"""The rows of ``CHANGES(…)``: old and new values side by side, paired by key."""

from __future__ import annotations

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import consolidated, paired, without_version
from tidings.lang.sql.changes import ChangesOf, ChangeSource
from tidings.store.relation.relations import Relations


def change_source(relations: Relations, name: str) -> ChangeSource | None:
    """A table or view whose changes can be read."""
    relation = relations.find(name)
    if relation is None:
        return None
    return ChangeSource(relation.name, relation.columns, relations.constraints(name).key)


def changes_entry(of: ChangesOf, entry: pa.Table, time: int) -> pa.Table:
    """The rows of ``CHANGES(…)``, as a log entry, for some changes of the table or view."""
    rows, pairs = without_version(entry), paired(entry, of.key)
    arrays = []
    for side in (0, 1):
        places = pa.array([pair[side] for pair in pairs], pa.int64())
        arrays += [c.combine_chunks().take(places) for c in rows.columns]
    side_by_side = pa.Table.from_arrays(arrays, schema=arrow_schema(of.side_by_side))
    return consolidated(of.side_by_side, side_by_side, [1] * side_by_side.num_rows, time)

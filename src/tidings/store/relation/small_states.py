"""States of few rows, in this process: a base with what a log adds to it and takes from it, without an engine."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.plain_rows import plain_rows
from tidings.engine.row_values import groupable
from tidings.ir.relation import Column
from tidings.store.records import SnapshotRecord
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table

SMALL_ROWS = 500_000
"""States of up to so many rows, with as many in their log, are made in this process,"""

SMALL_BYTES = 64 << 20
"""if the files of the base are not larger than this."""


HELD_ROWS = 50_000
"""Bases of up to so many rows that are in no file are in this process, too."""


def is_small(base: SnapshotRecord) -> bool:
    """Whether a base is read whole, into memory, to be folded."""
    return base.rows <= SMALL_ROWS and sum(file.bytes for file in base.files) <= SMALL_BYTES


def hold(table: Table, rows: pa.Table) -> None:
    """Let the base rows of a table be in this process too, if they are few."""
    if rows.num_rows <= HELD_ROWS:
        table.base_rows = conform(rows, table.schema)


def base_at_hand(table: Table, snapshot: Snapshot | None) -> pa.Table | None:
    """The base rows of a table, if they are few; None too where only the engine has them."""
    table.require_base()
    if table.base_rows is not None or table.base is None:
        return table.schema.empty_table() if table.base_rows is None else table.base_rows
    return snapshot.rows() if snapshot is not None and is_small(snapshot.record) else None


def small_state(columns: Sequence[Column], base: pa.Table, log: Sequence[pa.Table]) -> pa.Table:
    """The rows of a base with the changes of a log, each row as it was written."""
    schema = arrow_schema(columns, versioned=True)
    changes = pa.concat_tables([schema.empty_table(), *(entry.cast(schema) for entry in log)])
    came, went = plain_rows(changes, has_base=True)
    rows = pa.concat_tables([base.cast(arrow_schema(columns)), came])
    return _without(rows, went) if went.num_rows else rows


def _without(rows: pa.Table, went: pa.Table) -> pa.Table:
    """Rows less others, all of which are among them."""
    count, both = rows.num_rows, pa.concat_tables([rows, went])
    keys = {str(n): groupable(column) for n, column in enumerate(both.columns)}
    entries = pa.table(keys | {"place": pa.arange(0, both.num_rows)})
    groups = entries.group_by(list(keys), use_threads=False).aggregate([("place", "list"), ("place", "max")])
    removed: list[int] = []
    for places in groups.filter(pc.greater_equal(groups.column("place_max"), count)).column("place_list").to_pylist():
        present = [place for place in places if place < count]
        gone = len(places) - len(present)
        if gone > len(present):
            raise ValueError("a relation has lost rows that it did not have")
        removed += present[:gone]
    kept = pc.invert(pc.is_in(pa.arange(0, count), pa.array(removed, pa.int64())))
    return rows.filter(kept)

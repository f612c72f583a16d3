"""The rows of one table in parts, for readers in other processes: nothing but the catalog and files is read.

A part is some files of the snapshot, without the rows that went since, or the rows that came since.  It can be sent to
another machine that sees the folder.  All parts are those of one instant, and stay so when the table changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.backend import Backend
from tidings.engine.changes import as_changes
from tidings.engine.location import Location
from tidings.engine.plain_rows import plain_rows
from tidings.ir.relation import Column
from tidings.store.open import open_folder
from tidings.store.records import Definition, SnapshotRecord
from tidings.store.relation.small_states import small_state
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table
from tidings.store.restore import restored_table

ROWS_PER_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some of the rows of a table."""

    record: SnapshotRecord | None
    """The files that hold them, if they are in files."""
    added_values: Mapping[str, pa.Scalar]
    dropped: tuple[int, ...]
    key: tuple[str, ...]
    """The columns that tell rows apart; without any, ``rows`` are taken from all files at once."""
    rows: pa.Table
    """The rows to be left out of those in files; the rows themselves where there are no files."""


@dataclass(frozen=True, slots=True)
class TableParts:
    """A table at an instant."""

    columns: tuple[Column, ...]
    parts: tuple[TablePart, ...]


def table_parts(backend: Backend, folder: Location, catalog: str | None, name: str) -> TableParts | None:
    """The parts of a table by its name; None if there is no table of this name, which a view may have."""
    storage = open_folder(backend, folder, catalog, read_only=True)
    try:
        contents = storage.journal.contents
        with contents.frozen():
            definition = next((d for d in contents.definitions() if _is_table(d, name)), None)
            if definition is None:
                return None
            columns = tuple(Column(column, type) for column, type in definition.definition["columns"])
            table = restored_table(storage, definition, columns, contents.snapshots())
            snapshot = storage.snapshots.files.get(table.id)
            return TableParts(columns, tuple(_parts(table, snapshot)))
    finally:
        storage.close()


def _is_table(definition: Definition, name: str) -> bool:
    return definition.kind == "table" and definition.name.lower() == name.lower()


def _parts(table: Table, snapshot: Snapshot | None) -> Iterator[TablePart]:
    if table.damage is not None:
        raise table.damage
    empty = arrow_schema(table.columns, versioned=True).empty_table()
    log = pa.concat_tables([empty, *table.history.unfolded()()])
    came, went = plain_rows(log, has_base=snapshot is not None)
    key = table.constraints.key
    if snapshot is not None:
        together = bool(went.num_rows) and not key
        for some in [snapshot.record.files] if together else [(file,) for file in snapshot.record.files]:
            yield TablePart(replace(snapshot.record, files=some), snapshot.added_values, snapshot.dropped, key, went)
    if came.num_rows or snapshot is None:
        yield TablePart(None, {}, (), key, came)


def read_part(folder: Location, columns: tuple[Column, ...], part: TablePart) -> Iterator[pa.RecordBatch]:
    """The rows of a part."""
    rows = part.rows
    if part.record is not None:
        snapshot = Snapshot(folder, part.record, columns, "", part.added_values, dropped=part.dropped)
        rows = _without(columns, snapshot.rows(), part)
    yield from rows.to_batches(max_chunksize=ROWS_PER_BATCH)


def _without(columns: tuple[Column, ...], rows: pa.Table, part: TablePart) -> pa.Table:
    """Rows of files less those that went since."""
    if not part.rows.num_rows:
        return rows
    if not part.key:
        return small_state(columns, rows, [as_changes(columns, part.rows, -1)])
    keys = rows.select(part.key).append_column("place", pa.arange(0, rows.num_rows))
    kept = keys.join(part.rows.select(part.key), list(part.key), join_type="left anti").column("place")
    return rows.take(kept.take(pc.sort_indices(kept)))

"""Writing snapshots: the rows of a query as Parquet files that are durable before the catalog names them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.delta.key_columns import LISTABLE
from tidings.engine.backend import Backend
from tidings.engine.location import Location
from tidings.ir.relation import Column
from tidings.store.fault_points import point
from tidings.store.files import checksum, snapshot_folder, sync_folder
from tidings.store.filesystem import entries, make_folder, remove
from tidings.store.records import SnapshotFile, SnapshotRecord
from tidings.store.relation.table import Table
from tidings.store.write_failures import writing

ROWS_PER_FILE = 1_000_000

_ROW_GROUP = 1 << 20
"""About so many bytes are in a row group: single rows are looked up in them."""

_ROWS_PER_GROUP = 1_000, 20_000
"""The least and the most rows of a row group, of narrow and of wide ones."""


@dataclass(frozen=True, slots=True)
class SnapshotTarget:
    """What a snapshot is to be written for: a relation, the column to sort by, and the database's folder."""

    relation: int
    name: str
    columns: tuple[Column, ...]
    sort_column: str
    root: Location
    branch: str
    """That of the writer."""
    layout: int = 0
    """How many columns of the relation have been dropped."""

    @staticmethod
    def of(table: Table, root: Location, branch: str) -> SnapshotTarget:
        return SnapshotTarget(table.id, table.name, table.columns, table.sort_column, root, branch, table.layout)


def write_snapshot(backend: Backend, target: SnapshotTarget, query: str, at: int) -> SnapshotRecord:
    """Write the rows of a query, which are those at an instant, to files that are durable and not yet referenced."""
    folder = snapshot_folder(target.relation, target.branch)
    point("fold.begun")
    with writing(target.root / folder):
        make_folder(target.root / folder.rpartition("/")[0], inherits=True)
        backend.save(query, target.root / folder, target.sort_column, ROWS_PER_FILE)
        point("fold.files")
        snapshot = _recorded(target, folder, at)
    point("fold.synced")
    return snapshot


def write_rows(target: SnapshotTarget, rows: pa.Table, at: int) -> SnapshotRecord:
    """Write rows of this process, which are those at an instant, to one file, in the order and layout of an engine's.

    NULL comes first, as with Spark.
    """
    folder = snapshot_folder(target.relation, target.branch)
    file = target.root / folder / "part-00000.parquet"
    least, most = _ROWS_PER_GROUP
    per_group = min(most, max(least, _ROW_GROUP * rows.num_rows // max(rows.nbytes, 1)))
    order, nulls = (
        pc.sort_indices(rows, [(target.sort_column, "ascending")]),
        rows.column(target.sort_column).null_count,
    )
    order = pa.concat_arrays([order[len(order) - nulls :], order[: len(order) - nulls]])
    point("fold.begun")
    with writing(target.root / folder):
        make_folder(target.root / folder)
        pq.write_table(
            rows.take(order),
            file.path,
            filesystem=file.filesystem,
            compression="zstd",
            row_group_size=per_group,
            store_decimal_as_integer=True,
        )
        point("fold.files")
        snapshot = _recorded(target, folder, at)
    point("fold.synced")
    return snapshot


def is_writable_here(target: SnapshotTarget) -> bool:
    """Whether this process can write rows of a relation as an engine does: it can bring them in their order."""
    types = {c.name: c.type for c in target.columns}
    return types[target.sort_column] in LISTABLE and "void" not in types.values()


def _recorded(target: SnapshotTarget, folder: str, at: int) -> SnapshotRecord:
    """The record of the snapshot that an engine wrote into a folder, which is made durable."""
    path = target.root / folder
    files = []
    for name, info in entries(path).items():
        if not name.endswith(".parquet"):
            remove(path / name)
            continue
        metadata = pq.read_metadata(info.path, filesystem=path.filesystem)
        low, high = _bounds(metadata, target.sort_column)
        facts = metadata.num_rows, info.size, _plain(low), _plain(high), checksum(path / name)
        files.append(SnapshotFile(f"{folder}/{name}", *facts))
    sync_folder(path)
    rows = sum(f.rows for f in files)
    sort_column, layout = target.sort_column, target.layout
    return SnapshotRecord(target.relation, at, rows, folder, tuple(files), sorted_by=sort_column, layout=layout)


def _bounds(metadata: pq.FileMetaData, column: str) -> tuple[Any, Any]:
    """The least and greatest value of a column; nothing where a row group does not tell."""
    place = metadata.schema.to_arrow_schema().get_field_index(column)
    lows, highs = [], []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(place).statistics if place >= 0 else None
        if statistics is None or not statistics.has_min_max:
            return None, None
        lows.append(statistics.min)
        highs.append(statistics.max)
    return (min(lows), max(highs)) if lows else (None, None)


def _plain(value: Any) -> Any:
    """A bound as JSON holds it; only shown to people, so text will do for what is not a number."""
    match value:
        case None | int() | float() | str():
            return value
        case date() | datetime() | Decimal():
            return str(value)
        case _:
            return None

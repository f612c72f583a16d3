"""Snapshots: a relation's rows at one instant, in Parquet files sorted by one column.

A few rows are found by reading a few row groups, in this process and without the engine
(:mod:`tidings.store.relation.row_groups`).
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Backend
from tidings.engine.dialect import printed
from tidings.engine.lower import source_name
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.store.fault_points import point
from tidings.store.files import check_file, sync_folder
from tidings.store.records import SnapshotFile, SnapshotRecord
from tidings.store.relation.row_groups import DecodedCache, RowGroups, Sought
from tidings.store.relation.schema_evolution import completed, reading
from tidings.store.write_failures import writing

ROWS_PER_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """What a snapshot is to be written for: a relation, the column to sort by, and the database's folder."""

    relation: int
    name: str
    columns: tuple[Column, ...]
    key: str
    root: Path


def text_of(backend: Backend, name: str, source: Source) -> str:
    """A query for the rows of a source, which becomes readable under a name."""
    name = source_name(f"fold {name}", Version.CURRENT)
    backend.plain(name, source)
    columns = (exp.column(exp.to_identifier(c.name, quoted=True)) for c in source.columns)
    return printed(exp.select(*columns).from_(name), backend.dialect)


def written(backend: Backend, target: Target, text: str, at: int) -> SnapshotRecord:
    """The rows of a query as files that are durable, not yet named by the catalog."""
    folder = f"base/{target.relation}/{uuid.uuid4().hex[:12]}"
    point("fold.begun")
    with writing(target.root / folder):
        backend.save(text, target.root / folder, target.key, ROWS_PER_FILE)
        point("fold.files")
        found = described(target.relation, at, target.root, folder, target.key)
    point("fold.synced")
    return found


def described(relation: int, time: int, root: Path, folder: str, key: str) -> SnapshotRecord:
    """The snapshot that was written into a folder, made durable."""
    path = root / folder
    files = []
    for part in sorted(path.glob("*.parquet")):
        found = pq.ParquetFile(part).metadata
        low, high = _bounds(found, key)
        files.append(
            SnapshotFile(str(part.relative_to(root)), found.num_rows, part.stat().st_size, _plain(low), _plain(high))
        )
    for other in path.iterdir():
        if other.suffix != ".parquet":
            other.unlink()
    sync_folder(path)
    return SnapshotRecord(relation, time, sum(f.rows for f in files), folder, tuple(files), sorted_by=key)


def _bounds(found: pq.FileMetaData, key: str) -> tuple[Any, Any]:
    place = found.schema.to_arrow_schema().get_field_index(key)
    lows, highs = [], []
    for group in range(found.num_row_groups):
        statistics = found.row_group(group).column(place).statistics if place >= 0 else None
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


@dataclass(slots=True)
class Snapshot:
    """The files of a snapshot, ready to be searched."""

    root: Path
    base: SnapshotRecord
    columns: tuple[Column, ...]
    key: str
    """The column by which rows are looked up; empty if there is none."""
    fills: Mapping[str, pa.Scalar] = field(default_factory=dict)
    """What its rows have in columns that were added after it was written."""
    decoded: DecodedCache = field(default_factory=DecodedCache)
    """What has been read of files; all snapshots of a database share it."""
    _open: dict[str, RowGroups] = field(default_factory=dict)
    _whole: pa.Table | None = None
    _fanout: dict[str, float | None] = field(default_factory=dict)
    _last: tuple[pa.Array, pa.Table] | None = None
    """What was looked up last: an update finds its rows, and then the commit looks whether they are there."""

    def check(self) -> None:
        """Refuse files that are missing or cut off."""
        for file in self.base.files:
            check_file(self.root / file.path, file.bytes)

    def load_into(self, backend: Backend, name: str) -> None:
        """Let an engine read its rows as a base of some name."""
        as_held = self.held == [c.name for c in self.columns]
        read = None if as_held else reading(self.columns, self.held, self.fills, backend.dialect.name)
        backend.load_files(name, self.columns, self.paths, read)

    @property
    def paths(self) -> list[Path]:
        return [self.root / f.path for f in self.base.files]

    def lookup(self, wanted: pa.Array) -> pa.Table:
        """The rows whose key is among some values; NULL is found too."""
        last = self._last
        if last is None or not last[0].equals(wanted):
            self._last = last = wanted, self.having(self.key, wanted)
        return last[1]

    def effort(self, column: str, wanted: pa.Array) -> float:
        """How many row groups would have to be decoded to find the values of a column; no end if they are not there."""
        place, sought = self._place(column), Sought.of(wanted)
        if place >= len(self.held):
            return math.inf
        return sum(f.unread(f.names[place], sought) for f in map(self._opened, self.base.files))

    @property
    def row_groups(self) -> int:
        """How many there are."""
        return sum(self._opened(file).groups for file in self.base.files)

    def fanout(self, column: str) -> float | None:
        """About how many rows there are per value of a column, by a look at a few row groups."""
        if column not in self._fanout:
            place = self._place(column)
            files = [self._opened(file) for file in self.base.files]
            middle = files[len(files) // 2 : len(files) // 2 + 1]
            self._fanout[column] = middle[0].fanout(middle[0].names[place], self.base.rows) if middle else None
        return self._fanout[column]

    def rows(self) -> pa.Table:
        """All rows, kept once they were read: for snapshots of a few."""
        if self._whole is None:
            schema = arrow_schema(self.columns)
            parts = [pq.read_table(path, partitioning=None) for path in self.paths]
            complete = [conform(completed(p, self.columns, self.fills), schema) for p in parts]
            self._whole = pa.concat_tables(complete) if complete else schema.empty_table()
        return self._whole

    def _place(self, column: str) -> int:
        return [c.name for c in self.columns].index(column)

    def having(self, column: str, wanted: pa.Array, only: Sequence[Column] = ()) -> pa.Table:
        """The rows that have one of some values in a column, with all columns or only some; NULL is found too."""
        place, sought = self._place(column), Sought.of(wanted)
        columns = [c for c in self.columns if not only or c in only]
        schema = arrow_schema(columns)
        parts = []
        for file in map(self._opened, self.base.files):
            own = [n for n, c in zip(file.names, self.columns, strict=False) if c in columns]
            rows = file.matching(file.names[place], sought, own)
            if rows is not None:
                parts.append(conform(completed(rows, columns, self.fills), schema))
        return pa.concat_tables(parts) if parts else schema.empty_table()

    @property
    def held(self) -> list[str]:
        """The columns its files have: the first ones of the table, under the names these had."""
        if not self.base.files:
            return [c.name for c in self.columns]
        return self._opened(self.base.files[0]).names

    def _opened(self, file: SnapshotFile) -> RowGroups:
        if file.path not in self._open:
            self._open[file.path] = RowGroups(self.root / file.path, self.decoded)
        return self._open[file.path]

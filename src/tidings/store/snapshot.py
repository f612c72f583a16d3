"""Snapshots: a relation's rows at one instant, in Parquet files sorted by one column.

Each file is known with the least and greatest value of that column, and so is each of its row groups.  So a few rows
are found by reading a few row groups, in this process and without the engine.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Backend
from tidings.engine.lower import printed, source_name
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.store.fault import point
from tidings.store.files import check_file, sync_folder
from tidings.store.older import completed, reading
from tidings.store.records import Base, File
from tidings.store.refusal import writing

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


def written(backend: Backend, target: Target, text: str, at: int) -> Base:
    """The rows of a query as files that are durable, not yet named by the catalog."""
    folder = f"base/{target.relation}/{uuid.uuid4().hex[:12]}"
    point("fold.begun")
    with writing(target.root / folder):
        backend.save(text, target.root / folder, target.key, ROWS_PER_FILE)
        point("fold.files")
        found = described(target.relation, at, target.root, folder, target.key)
    point("fold.synced")
    return found


def described(relation: int, time: int, root: Path, folder: str, key: str) -> Base:
    """The snapshot that was written into a folder, made durable."""
    path = root / folder
    files = []
    for part in sorted(path.glob("*.parquet")):
        found = pq.ParquetFile(part).metadata
        low, high = _bounds(found, key)
        files.append(File(str(part.relative_to(root)), found.num_rows, part.stat().st_size, _plain(low), _plain(high)))
    for other in path.iterdir():
        if other.suffix != ".parquet":
            other.unlink()
    sync_folder(path)
    return Base(relation, time, sum(f.rows for f in files), folder, tuple(files), sorted_by=key)


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


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The least and greatest value of a column in a row group, and whether it may have NULLs."""

    low: Any
    high: Any
    nulls: bool


@dataclass(slots=True)
class Snapshot:
    """The files of a snapshot, ready to be searched."""

    root: Path
    base: Base
    columns: tuple[Column, ...]
    key: str
    """The column by which rows are looked up; empty if there is none."""
    fills: Mapping[str, pa.Scalar] = field(default_factory=dict)
    """What its rows have in columns that were added after it was written."""
    _open: dict[str, pq.ParquetFile] = field(default_factory=dict)
    _groups: dict[str, list[_Bounds | None]] = field(default_factory=dict)
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
        if self._last is None or not self._last[0].equals(wanted):
            self._last = wanted, self._looked_up(wanted)
        return self._last[1]

    def _looked_up(self, wanted: pa.Array) -> pa.Table:
        parts = [self._in_file(file, wanted) for file in self.base.files]
        found = [p for p in parts if p is not None]
        schema = arrow_schema(self.columns)
        complete = [conform(completed(f, self.columns, self.fills), schema) for f in found]
        return pa.concat_tables(complete) if found else schema.empty_table()

    @property
    def held(self) -> list[str]:
        """The columns its files have: the first ones of the table, under the names these had."""
        if not self.base.files:
            return [c.name for c in self.columns]
        return list(self._opened(self.base.files[0]).schema_arrow.names)

    def _in_file(self, file: File, wanted: pa.Array) -> pa.Table | None:
        """The matching rows of one file, from the row groups that may have some."""
        opened = self._opened(file)
        place = [c.name for c in self.columns].index(self.key)
        values = sorted(set(wanted.drop_null().to_pylist()))
        known = self._statistics(file, opened.schema_arrow.names[place])
        groups = [g for g, found in enumerate(known) if _may_hold(found, values, wanted.null_count > 0)]
        if not groups:
            return None
        name = opened.schema_arrow.names[place]
        keys = opened.read_row_groups(groups, columns=[name], use_threads=False).column(0)
        found = pc.is_in(keys.cast(wanted.type), value_set=wanted)
        return opened.read_row_groups(groups, use_threads=False).filter(found) if pc.any(found).as_py() else None

    def _opened(self, file: File) -> pq.ParquetFile:
        if file.path not in self._open:
            self._open[file.path] = pq.ParquetFile(self.root / file.path)
        return self._open[file.path]

    def _statistics(self, file: File, name: str) -> list[_Bounds | None]:
        """What is known of a column in each row group of a file; read once."""
        if file.path not in self._groups:
            found = self._opened(file).metadata
            leaf = next((n for n in range(found.num_columns) if found.schema.column(n).path == name), None)
            groups = [found.row_group(g) for g in range(found.num_row_groups)]
            self._groups[file.path] = [None if leaf is None else _of_group(g.column(leaf).statistics) for g in groups]
        return self._groups[file.path]


def _of_group(found: pq.Statistics | None) -> _Bounds | None:
    if found is None or not found.has_min_max:
        return None
    return _Bounds(found.min, found.max, not found.has_null_count or found.null_count > 0)


def _may_hold(found: _Bounds | None, values: list[Any], null: bool) -> bool:
    """Whether a row group may have some of the values, which are in order."""
    if found is None or (null and found.nulls):
        return True
    try:
        first = bisect_left(values, found.low)
        return first < len(values) and bool(values[first] <= found.high)
    except TypeError:  # a moment with a time zone and one without
        return True

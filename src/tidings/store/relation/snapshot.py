"""Snapshots: a relation's rows at one instant, in Parquet files sorted by one column.

A few rows are found by reading a few row groups, in this process and without the engine
(:mod:`tidings.store.relation.row_groups`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.delta.key_columns import LISTABLE
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Backend
from tidings.engine.location import Location
from tidings.engine.sql.row_queries import file_columns
from tidings.ir.relation import Column
from tidings.store.files import check_files, verify_checksum
from tidings.store.records import SnapshotFile, SnapshotRecord
from tidings.store.relation.row_groups import DecodedCache, RowGroups, Sought
from tidings.store.relation.schema_evolution import places_kept, with_current_columns
from tidings.store.relation.unique_keys import are_unique


@dataclass(slots=True)
class Snapshot:
    """The files of a snapshot, ready to be searched."""

    root: Location
    record: SnapshotRecord
    columns: tuple[Column, ...]
    key: str
    """The column by which rows are looked up; empty if there is none."""
    added_values: Mapping[str, pa.Scalar] = field(default_factory=dict)
    """The values of its rows in columns that were added after it was written."""
    decoded: DecodedCache = field(default_factory=DecodedCache)
    """What has been read of files; all snapshots of a database share it."""
    dropped: tuple[int, ...] = ()
    """The places of columns of its files that were dropped after it was written, one after the other."""
    _open: dict[str, RowGroups] = field(init=False, default_factory=dict)
    _fanout: dict[str, float | None] = field(init=False, default_factory=dict)
    _last: tuple[pa.Array, pa.Table] | None = field(init=False, default=None)
    """What was looked up last: an update finds its rows, and then the commit looks whether they are there."""

    def check(self) -> None:
        """Refuse files that are missing or cut off."""
        if self.record.files:
            check_files(self.root, self.record.folder, {file.path: file.bytes for file in self.record.files})

    def verify(self) -> None:
        """Refuse files whose bytes are not those that were written; each is looked at once."""
        for file in self.record.files:
            self._verify(file)

    def _verify(self, file: SnapshotFile) -> None:
        if file.checksum is not None and file.path not in self.decoded.verified:
            verify_checksum(self.root / file.path, file.checksum)
            self.decoded.verified.add(file.path)

    def load_into(self, backend: Backend, name: str, *, cached: bool = True) -> None:
        """Let an engine read its rows as a base of some name; ``cached`` says that it will do so often."""
        names, dialect = self.file_columns, backend.dialect.name
        unchanged = not self.dropped and names == [c.name for c in self.columns]
        expressions = None if unchanged else file_columns(self.columns, names, self.added_values, dialect)
        size = sum(file.bytes for file in self.record.files) if cached else None
        backend.load_files(name, self.columns, self.paths, expressions, cached_bytes=size)

    @property
    def paths(self) -> list[Location]:
        return [self.root / f.path for f in self.record.files]

    def lookup(self, values: pa.Array) -> pa.Table:
        """The rows whose key is among some values; NULL is found too."""
        last = self._last
        if last is None or not last[0].equals(values):
            self._last = last = values, self.having(self.key, Sought.of(values))
        return last[1]

    def effort(self, column: str, sought: Sought) -> float:
        """How many row groups would have to be decoded to find the values of a column; no end if they are not there."""
        place = self._place(column)
        if place >= len(self.file_columns):
            return math.inf
        return sum(f.unread(self._names(f)[place], sought) for f in map(self._opened, self.record.files))

    @property
    def row_groups(self) -> int:
        """How many there are."""
        return sum(self._opened(file).groups for file in self.record.files)

    def fanout(self, column: str) -> float | None:
        """About how many rows there are per value of a column, by a look at a few row groups."""
        if column not in self._fanout:
            place = self._place(column)
            files = [self._opened(file) for file in self.record.files]
            middle = files[len(files) // 2 : len(files) // 2 + 1]
            self._fanout[column] = middle[0].fanout(self._names(middle[0])[place], self.record.rows) if middle else None
        return self._fanout[column]

    def rows(self) -> pa.Table:
        """All rows, cached once they were read: for small snapshots."""
        key = self.root / self.record.folder, self.columns, self.dropped
        rows = self.decoded.find_rows(key)
        if rows is None:
            schema = arrow_schema(self.columns)
            files = map(self._opened, self.record.files)
            parts = [file.rows(self._names(file) if self.dropped else None) for file in files]
            widened = [conform(with_current_columns(p, self.columns, self.added_values), schema) for p in parts]
            rows = pa.concat_tables(widened) if widened else schema.empty_table()
            self.decoded.keep_rows(key, rows)
        return rows

    def has_unique(self, key: Sequence[str]) -> bool | None:
        """Whether no two rows have the same key; None if that cannot be told by a pass over its files."""
        ordered = [c.name for c in self.columns if c.type in LISTABLE]
        if (
            not key
            or key[0] not in ordered
            or self.record.sorted_by != key[0]
            or not set(key) <= set(self.file_columns)
        ):
            return None
        return are_unique(self._opened(file).rows(key) for file in self.record.files)

    def _place(self, column: str) -> int:
        return [c.name for c in self.columns].index(column)

    def having(self, column: str, sought: Sought, only: Sequence[Column] = ()) -> pa.Table:
        """The rows that have one of some values in a column, with all columns or only some; NULL is found too."""
        place = self._place(column)
        columns = [c for c in self.columns if not only or c in only]
        schema = arrow_schema(columns)
        parts = []
        for file in map(self._opened, self.record.files):
            present = self._names(file)
            names = [n for n, c in zip(present, self.columns, strict=False) if c in columns]
            rows = file.matching(present[place], sought, names)
            if rows is not None:
                parts.append(conform(with_current_columns(rows, columns, self.added_values), schema))
        return pa.concat_tables(parts) if parts else schema.empty_table()

    @property
    def file_columns(self) -> list[str]:
        """The columns of its files that the table still has: its first ones, under the names these had."""
        if not self.record.files:
            return [c.name for c in self.columns]
        return self._names(self._described(self.record.files[0]))

    def _names(self, file: RowGroups) -> list[str]:
        names = file.names
        return [names[place] for place in places_kept(len(names), self.dropped)] if self.dropped else names

    def _opened(self, file: SnapshotFile) -> RowGroups:
        """A file whose rows are to be read."""
        self._verify(file)
        return self._described(file)

    def _described(self, file: SnapshotFile) -> RowGroups:
        """A file of which only its description is read."""
        if file.path not in self._open:
            self._open[file.path] = RowGroups(self.root / file.path, self.decoded)
        return self._open[file.path]

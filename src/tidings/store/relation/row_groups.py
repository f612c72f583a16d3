"""Rows of a Parquet file by the values of one column, row group by row group.

A row group is known with the least and greatest value of the column, so only those are looked into that may hold a
value that is sought.  There the column is read first, and the others only if some row matches.  Files are in the
order of the column as a rule: then values are found in it by halving, else by going through it.

What has been decoded is cached, up to a number of bytes: a file never changes, and a transaction looks up its rows more
than once.  Decoding is nearly all of what a lookup costs.  For many values in a large file all row groups that may hold
some are read at once, on all cores, and nothing of them is cached.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tidings.engine.location import Location
from tidings.engine.memory import MemoryBudget
from tidings.errors import DamagedFile
from tidings.store.filesystem import storage_failures

SCATTERED = 1000
"""Up to this many places in a row group are listed one by one."""

FEW = 32
"""Up to this many values are gone through in Python, which takes less time than Arrow's kernels take to begin."""

MANY = 2_000
"""More values than this are sought in all row groups of a large file at once."""

LARGE = 8
"""A file is large if it would take more than one part in so many of the cache."""


@dataclass(slots=True)
class _Column:
    """A column of a row group."""

    values: pa.Array
    _ascending: bool | None = None

    @property
    def ascending(self) -> bool:
        """Whether it is in order and without NULLs; found out when it is first asked."""
        if self._ascending is None:
            self._ascending = _is_ascending(self.values)
        return self._ascending


@dataclass(slots=True)
class DecodedCache:
    """Columns of row groups and the rows of small tables; what was not used for the longest time goes first."""

    limit: int = MemoryBudget().decoded
    bytes: int = 0
    hits: int = field(init=False, default=0)
    misses: int = field(init=False, default=0)
    """How often a column was found here, and how often it was not."""
    verified: set[str] = field(default_factory=set)
    """The files whose bytes are known to be those that were written."""
    _columns_by_use: OrderedDict[tuple[Location, int, str], _Column] = field(default_factory=OrderedDict)
    _rows: OrderedDict[Hashable, pa.Table] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def find(self, path: Location, group: int, name: str) -> _Column | None:
        with self._lock:
            column = self._columns_by_use.get((path, group, name))
            if column is None:
                self.misses += 1
            else:
                self.hits += 1
                self._columns_by_use.move_to_end((path, group, name))
            return column

    def keep(self, path: Location, group: int, name: str, column: _Column) -> None:
        with self._lock:
            replaced = self._columns_by_use.pop((path, group, name), None)
            self._columns_by_use[path, group, name] = column
            self.bytes += _size(column) - (_size(replaced) if replaced is not None else 0)
            self._make_room()

    def find_rows(self, key: Hashable) -> pa.Table | None:
        """All rows of a snapshot, by its folder and the form they have."""
        with self._lock:
            rows = self._rows.get(key)
            if rows is not None:
                self._rows.move_to_end(key)
            return rows

    def keep_rows(self, key: Hashable, rows: pa.Table) -> None:
        with self._lock:
            replaced = self._rows.pop(key, None)
            self._rows[key] = rows
            self.bytes += rows.nbytes - (0 if replaced is None else replaced.nbytes)
            self._make_room()

    def _make_room(self) -> None:
        """Drop columns first: the rows of a small table are read by many waves."""
        while self.bytes > self.limit and self._columns_by_use:
            _, column = self._columns_by_use.popitem(last=False)
            self.bytes -= _size(column)
        while self.bytes > self.limit and self._rows:
            _, rows = self._rows.popitem(last=False)
            self.bytes -= rows.nbytes


def _size(column: _Column) -> int:
    return int(column.values.get_total_buffer_size())


@dataclass(frozen=True, slots=True)
class Sought:
    """Values to be found: in order, each once, and perhaps NULL."""

    values: list[Any]
    array: pa.Array
    null: bool

    @classmethod
    def of(cls, values: pa.Array) -> Sought:
        null = values.null_count > 0
        if len(values) == 1 and not null:
            return cls(values.to_pylist(), values, null)
        present = pc.unique(values.drop_null())
        array = present.take(pc.sort_indices(present))
        return cls(array.to_pylist(), array, null)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The least and greatest value of a column in a row group, and whether it may have NULLs."""

    low: Any
    high: Any
    nulls: bool


@dataclass(slots=True)
class RowGroups:
    """One file."""

    path: Location
    decoded: DecodedCache
    names: list[str] = field(init=False)
    """The columns of the file."""
    _file: pq.ParquetFile = field(init=False)
    _known: dict[str, _Directory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            with storage_failures(self.path):
                self._file = pq.ParquetFile(
                    self.path.path, filesystem=self.path.filesystem, pre_buffer=not self.path.is_local
                )
        except (pa.ArrowInvalid, OSError) as error:
            raise DamagedFile(path=str(self.path), reason=str(error).splitlines()[0]) from None
        self.names = list(self._file.schema_arrow.names)

    @property
    def groups(self) -> int:
        """The number of row groups."""
        return int(self._file.metadata.num_row_groups)

    @property
    def _is_large(self) -> bool:
        """Whether the cache has no room to spare for all of it, at some eight bytes per value."""
        metadata = self._file.metadata
        return int(metadata.num_rows * metadata.num_columns * 8) > self.decoded.limit // LARGE

    def rows(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows, with all columns or only some."""
        with storage_failures(self.path):
            return self._file.read() if columns is None else self._file.read(list(columns)).select(list(columns))

    def matching(self, name: str, sought: Sought, columns: list[str] | None = None) -> pa.Table | None:
        """The rows that have one of some values in a column; None if there are none.

        They have all columns of the file or only some, in the order of the file.
        """
        names = [n for n in self.names if columns is None or n in columns]
        holding = self._directory(name).holding(sought)
        if len(sought.values) > MANY and self._is_large:
            return self._all_at_once(name, sought, [group for group, _ in holding], names)
        parts: list[list[pa.Array]] = []
        for group, values in holding:
            places = _places(self._column(group, name), values, sought.null)
            if len(places):
                parts.append([column.values.take(places) for column in self._columns(group, names)])
        if not parts:
            return None
        arrays = [pa.chunked_array(chunks) for chunks in zip(*parts, strict=True)]
        return pa.Table.from_arrays(arrays, names=names)

    def _all_at_once(self, name: str, sought: Sought, groups: list[int], names: list[str]) -> pa.Table | None:
        """The rows of some row groups that have one of many values."""
        if not groups:
            return None
        part = ds.ParquetFileFormat().make_fragment(self.path.path, self.path.filesystem, row_groups=groups)
        with storage_failures(self.path):
            rows = part.to_table(columns=list(dict.fromkeys([*names, name])))
        matches = rows.filter(_is_one_of(rows.column(name), sought.array, sought.null))
        return matches.select(names) if matches.num_rows else None

    def unread(self, name: str, sought: Sought) -> int:
        """How many row groups that may hold some values have not been decoded."""
        if len(sought.values) > MANY and self._is_large:
            return sum(1 for _ in self._directory(name).holding(sought))
        return sum(self.decoded.find(self.path, g, name) is None for g, _ in self._directory(name).holding(sought))

    def fanout(self, name: str, rows: int) -> float | None:
        """About how many of so many rows have one value in a column, judged by one row group in the middle.

        Where the file is in the order of the column, the rows of a value stand together, and the group shows them.
        Elsewhere values that are met once are taken to stand for others that are not met, but not for more than make it
        likely that so many are met more than once.
        """
        groups = self._file.metadata.num_row_groups
        if name not in self.names or not groups:
            return None
        column = self._column(groups // 2, name)
        try:
            counts = column.values.value_counts().field("counts")
        except pa.ArrowNotImplementedError:
            return None
        met = len(column.values)
        if not met:
            return None
        if column.ascending:
            return met / len(counts)
        repeated = met - len(counts)
        if not repeated:
            return 1.0
        once = pc.sum(pc.equal(counts, 1)).as_py() or 0
        values = min(math.sqrt(max(rows, met) / met) * once + len(counts) - once, met * met / (2 * repeated))
        return max(1.0, rows / max(values, len(counts)))

    def _directory(self, name: str) -> _Directory:
        if name not in self._known:
            self._known[name] = _Directory.of(self._file.metadata, name)
        return self._known[name]

    def _column(self, group: int, name: str) -> _Column:
        column = self.decoded.find(self.path, group, name)
        return self._read(group, [name])[name] if column is None else column

    def _columns(self, group: int, names: list[str]) -> list[_Column]:
        """Some columns of a row group."""
        cached = {name: self.decoded.find(self.path, group, name) for name in names}
        columns = {name: column for name, column in cached.items() if column is not None}
        missing = [name for name in names if name not in columns]
        if missing:
            columns |= self._read(group, missing)
        return [columns[name] for name in names]

    def _read(self, group: int, names: list[str]) -> dict[str, _Column]:
        with storage_failures(self.path):
            rows = self._file.read_row_group(group, columns=names, use_threads=False)
        columns = {}
        for name in names:
            chunks = rows.column(name)
            values = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
            columns[name] = _Column(values)
            self.decoded.keep(self.path, group, name, columns[name])
        return columns


@dataclass(frozen=True, slots=True)
class _Directory:
    """What is known of a column in each row group."""

    groups: list[_Bounds | None]
    lows: list[Any]
    highs: list[Any]
    """The bounds, if both ascend from group to group; else nothing."""

    @classmethod
    def of(cls, metadata: pq.FileMetaData, name: str) -> _Directory:
        leaves = [metadata.schema.column(n) for n in range(metadata.num_columns)]
        leaf = next((n for n, column in enumerate(leaves) if column.path == column.name == name), None)
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        bounds = [None if leaf is None else _bounds(g.column(leaf).statistics) for g in groups]
        known = [b for b in bounds if b is not None]
        lows, highs = [b.low for b in known], [b.high for b in known]
        ascending = len(known) == len(bounds) and lows == sorted(lows) and highs == sorted(highs)
        return cls(bounds, lows, highs) if ascending else cls(bounds, [], [])

    def holding(self, sought: Sought) -> Iterator[tuple[int, pa.Array]]:
        """The row groups that may hold some of the values, each with those values."""
        for group in self._candidates(sought):
            bounds = self.groups[group]
            first, last = _between(bounds, sought.values)
            if first < last or (sought.null and (bounds is None or bounds.nulls)):
                yield group, sought.array.slice(first, last - first)

    def _candidates(self, sought: Sought) -> list[int] | range:
        """Row groups to be looked at more closely; few if they and the values are."""
        if not self.highs or len(sought.values) > len(self.highs) or sought.null:
            return range(len(self.groups))
        groups: dict[int, None] = {}
        try:
            for value in sought.values:
                groups |= dict.fromkeys(range(bisect_left(self.highs, value), bisect_right(self.lows, value)))
        except TypeError:
            return range(len(self.groups))
        return list(groups)


def _bounds(statistics: pq.Statistics | None) -> _Bounds | None:
    if statistics is None or not statistics.has_min_max:
        return None
    return _Bounds(statistics.min, statistics.max, not statistics.has_null_count or statistics.null_count > 0)


def _between(bounds: _Bounds | None, values: list[Any]) -> tuple[int, int]:
    """Which of some values, in order, a row group may hold: from one place to another."""
    if bounds is None:
        return 0, len(values)
    try:
        return bisect_left(values, bounds.low), bisect_right(values, bounds.high)
    except TypeError:  # a moment with a time zone and one without
        return 0, len(values)


def _is_ascending(values: pa.Array) -> bool:
    if values.null_count or len(values) < 2:
        return not values.null_count
    try:
        return pc.all(pc.less_equal(values.slice(0, len(values) - 1), values.slice(1))).as_py() is True
    except pa.ArrowNotImplementedError:
        return False


def _places(column: _Column, sought: pa.Array, null: bool) -> pa.Array:
    """Where a column has one of some values, which are in order, or NULL if that is sought too."""
    keys = column.values if column.values.type == sought.type else column.values.cast(sought.type)
    if column.ascending and hasattr(pc, "search_sorted"):  # since Arrow 26
        try:
            firsts = pc.search_sorted(keys, sought, side="left")
            lasts = pc.search_sorted(keys, sought, side="right")
        except pa.ArrowNotImplementedError:  # of decimals
            pass
        else:
            if len(sought) > FEW:
                counts = pc.subtract(lasts, firsts)
                if (pc.max(counts).as_py() or 0) <= 1:
                    return firsts.filter(pc.equal(counts, 1))
            pairs = zip(firsts.to_pylist(), lasts.to_pylist(), strict=True)
            ranges = [range(first, last) for first, last in pairs if first < last]
            if sum(map(len, ranges)) <= SCATTERED:
                return pa.array([place for places in ranges for place in places], pa.int64())
    return pc.indices_nonzero(_is_one_of(keys, sought, null))


def _is_one_of(values: pa.Array | pa.ChunkedArray, sought: pa.Array, null: bool) -> pa.Array | pa.ChunkedArray:
    """For each value, whether it is sought."""
    values = values if values.type == sought.type else values.cast(sought.type)
    return pc.is_in(values, value_set=pa.concat_arrays([sought, pa.nulls(1, sought.type)]) if null else sought)

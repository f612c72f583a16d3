"""Snapshots as the second engine has them: in their files, and in memory the columns that it scans repeatedly.

A lookup by a column in whose order a snapshot is not has to scan all its rows.  In files that means decoding whole
columns.  So the columns that lookups want of a snapshot are brought into the second engine's memory at the second scan,
and stay there, compressed, until the snapshot is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidings.engine.changes import no_changes
from tidings.engine.source import Source
from tidings.errors import EngineFailed
from tidings.ir.relation import Column
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB

_WIDTHS = {"string": 16, "binary": 16, "int": 4, "date": 4, "boolean": 1, "smallint": 2, "tinyint": 1}
"""Bytes per value; 8 for other types."""


@dataclass(slots=True)
class CachedColumns:
    """The columns of a snapshot that are in memory."""

    base: str
    columns: tuple[Column, ...] = ()
    bytes: int = 0
    """About so much, before they are compressed."""
    scans: int = 0
    """How often the snapshot was scanned."""
    too_large: bool = False
    """Whether the engine had no room for them."""

    @property
    def name(self) -> str:
        return f"{self.base}#held"


@dataclass(slots=True)
class SnapshotCache:
    """The snapshots that the second engine has loaded."""

    engine: DuckDB
    _files: dict[int, str] = field(init=False, default_factory=dict)
    """Bases that it reads in their files, by table."""
    _cached: dict[int, CachedColumns] = field(init=False, default_factory=dict)
    """What it has in memory of them, by table."""

    @property
    def bytes(self) -> int:
        """How many bytes are in memory, about."""
        return sum(cached.bytes for cached in self._cached.values())

    def forget(self) -> None:
        """Unload everything."""
        for name in (*self._files.values(), *(cached.name for cached in self._cached.values())):
            self.engine.unload(name)
        self._files.clear()
        self._cached.clear()

    def rows(self, table: Table, snapshot: Snapshot) -> Source:
        """All rows of a snapshot, in its files."""
        assert table.base is not None
        table.require_base()
        loaded = self._files.get(table.id)
        if loaded != table.base:
            if loaded is not None:
                self.engine.unload(loaded)
            snapshot.load_into(self.engine, table.base)
            self._files[table.id] = table.base
        return _unchanged(table.columns, table.base)

    def columns(
        self, table: Table, snapshot: Snapshot, columns: tuple[Column, ...], others: Iterable[tuple[Column, ...]]
    ) -> Source:
        """Some columns of a snapshot, to be scanned; ``others`` are those that later scans may ask for."""
        in_files = self.rows(table, snapshot)
        cached = self._cached.get(table.id)
        if cached is None or cached.base != table.base:
            if cached is not None:
                self.engine.unload(cached.name)
            cached = self._cached[table.id] = CachedColumns(table.base or "")
        cached.scans += 1
        if cached.scans > 1 and not cached.too_large and not set(columns) <= set(cached.columns):
            needed = set(cached.columns).union(columns)
            if not self._cache(table, cached, needed.union(*others)):
                self._cache(table, cached, needed)
        return _unchanged(columns, cached.name) if set(columns) <= set(cached.columns) else in_files

    def _cache(self, table: Table, cached: CachedColumns, needed: set[Column]) -> bool:
        """Bring columns into memory, if there is room."""
        columns = tuple(c for c in table.columns if c in needed)
        bytes = sum(_WIDTHS.get(c.type, 8) for c in columns) * table.base_size
        if bytes + sum(c.bytes for c in self._cached.values() if c is not cached) > self.engine.held_limit:
            return False
        try:
            self.engine.hold(cached.name, columns, cached.base)
        except EngineFailed:
            self.engine.unload(cached.name)
            cached.columns, cached.bytes, cached.too_large = (), 0, True
            return False
        cached.columns, cached.bytes = columns, bytes
        return True


def _unchanged(columns: tuple[Column, ...], base: str) -> Source:
    """The rows of a base, without changes."""
    return Source(columns, base, no_changes(columns))

"""Snapshots as the second engine has them: in their files, and what it goes through again and again in memory.

A lookup by a column in whose order a snapshot is not has to go through all its rows.  In files that takes the decoding
of whole columns.  So the columns that lookups want of a snapshot are brought into the second engine's memory when it is
gone through for the second time, and stay there, compressed, until it is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidings.engine.arrow import arrow_schema
from tidings.engine.backends import MEMORY
from tidings.engine.source import Source
from tidings.errors import EngineFailed
from tidings.ir.relation import Column
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB

HELD = MEMORY // 6
"""So many bytes of snapshots are held in memory, before they are compressed."""

_WIDTHS = {"string": 16, "binary": 16, "int": 4, "date": 4, "boolean": 1, "smallint": 2, "tinyint": 1}
"""Bytes per value; 8 for other types."""


@dataclass(slots=True)
class _CachedColumns:
    """The columns of a snapshot that are in memory."""

    base: str
    columns: tuple[Column, ...] = ()
    bytes: int = 0
    """About so much, before they are compressed."""
    times: int = 0
    """How often the snapshot was gone through."""
    too_large: bool = False
    """Whether there was no room for what was wanted of it."""

    @property
    def name(self) -> str:
        return f"{self.base}#held"


@dataclass(slots=True)
class SnapshotCache:
    """What the second engine knows of snapshots."""

    engine: DuckDB
    _files: dict[int, str] = field(default_factory=dict)
    """Bases that it reads in their files, by table."""
    _held: dict[int, _CachedColumns] = field(default_factory=dict)
    """What it has in memory of them."""

    def forget(self) -> None:
        """Let go of everything."""
        for name in (*self._files.values(), *(held.name for held in self._held.values())):
            self.engine.unload(name)
        self._files.clear()
        self._held.clear()

    def rows(self, table: Table, snapshot: Snapshot) -> Source:
        """All rows of a snapshot, in its files."""
        assert table.base is not None
        known = self._files.get(table.id)
        if known != table.base:
            if known is not None:
                self.engine.unload(known)
            snapshot.load_into(self.engine, table.base)
            self._files[table.id] = table.base
        return _plain(table.columns, table.base)

    def columns(
        self, table: Table, snapshot: Snapshot, wanted: tuple[Column, ...], others: Iterable[tuple[Column, ...]]
    ) -> Source:
        """Some columns of a snapshot that is gone through; ``others`` are those it may be gone through for later."""
        in_files = self.rows(table, snapshot)
        held = self._held.get(table.id)
        if held is None or held.base != table.base:
            if held is not None:
                self.engine.unload(held.name)
            held = self._held[table.id] = _CachedColumns(table.base or "")
        held.times += 1
        if held.times > 1 and not held.too_large and not set(wanted) <= set(held.columns):
            known = set(held.columns).union(wanted)
            if not self._hold(table, held, known.union(*others)):
                self._hold(table, held, known)
        return _plain(wanted, held.name) if set(wanted) <= set(held.columns) else in_files

    def _hold(self, table: Table, held: _CachedColumns, wanted: set[Column]) -> bool:
        """Bring columns into memory, if there is room."""
        columns = tuple(c for c in table.columns if c in wanted)
        bytes = sum(_WIDTHS.get(c.type, 8) for c in columns) * table.base_size
        if bytes + sum(h.bytes for h in self._held.values() if h is not held) > HELD:
            return False
        try:
            self.engine.hold(held.name, columns, held.base)
        except EngineFailed:
            self.engine.unload(held.name)
            held.columns, held.bytes, held.too_large = (), 0, True
            return False
        held.columns, held.bytes = columns, bytes
        return True


def _plain(columns: tuple[Column, ...], base: str) -> Source:
    """The rows of a base and nothing else."""
    return Source(columns, base, arrow_schema(columns, versioned=True).empty_table())

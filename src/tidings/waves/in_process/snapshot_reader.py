"""Reads rows of snapshots by their keys, in the cheapest of three ways.

1. A small snapshot is read whole.
2. Row groups that may hold some of the keys are decoded, if these are few, as where the snapshot is in the order of the
   column looked up by.
3. Else the second engine scans all rows; the columns that it scans repeatedly come to be in memory
   (:mod:`tidings.waves.in_process.snapshot_cache`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.delta.lookups import KEY, KEYS, Lookup
from tidings.engine.changes import versioned
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.errors import UnknownRelation
from tidings.ir.relation import Column
from tidings.store.relation.row_groups import Sought
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.lookup_cache import LookupCache
from tidings.waves.in_process.snapshot_cache import SnapshotCache

WHOLE_LIMIT = 20_000
"""A relation of up to this many rows may be read whole, and stays in memory then."""

SCAN_LIMIT = 50_000_000
"""Up to this many rows may be scanned in files."""

KEYS_LIMIT = 2_000
"""Up to this many keys are asked of the database's engine; for more, the whole wave runs there."""

FEW_ROW_GROUPS, MANY_ROW_GROUPS = 16, 400
"""A lookup decodes a quarter of the row groups and a few more, but never many; else all rows are scanned."""

SORTED_ROW_GROUPS = 64
"""A lookup by the column in whose order the rows are may decode at least so many: decoded row groups stay in memory."""


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """Reads rows of the snapshots of one database."""

    storage: Storage
    second_runner: Runner
    """Scans snapshots on the second engine."""
    snapshot_cache: SnapshotCache
    lookup_cache: LookupCache

    def table(self, relation: str) -> Table | None:
        """The table that has the rows of a relation; None if all there is of it are changes of a transaction."""
        return table_of(self.storage, relation)

    def is_small(self, table: Table) -> bool:
        """Whether a table may be read whole, into memory."""
        return table.base_size <= WHOLE_LIMIT

    def in_place(self, table: Table, lookup: Lookup) -> Source:
        """The columns of a lookup, all rows of them, where the second engine has them."""
        return self._columns(table, self.storage.snapshots.files[table.id], lookup)

    def rows(self, table: Table, lookup: Lookup, keys: pa.Array, batch: tuple[int, int]) -> pa.Table | None:
        """The base rows of a lookup; None if they are in no snapshot, or would take too long to find there."""
        snapshot = self.storage.snapshots.files.get(table.id)
        if snapshot is None:
            return None
        if lookup.column is None and self.is_small(table):
            return snapshot.rows()
        if lookup.column is not None:
            values = keys.drop_null()
            values = pa.concat_arrays([values, pa.nulls(1, values.type)]) if lookup.nulls else values
            name, sought = lookup.column.name, Sought.of(values)
            if snapshot.effort(name, sought) <= _row_group_limit(snapshot, name):
                return snapshot.having(name, sought, lookup.columns)
        return None if table.base_size > SCAN_LIMIT else self._scan(table, snapshot, lookup, keys, batch)

    def _scan(
        self, table: Table, snapshot: Snapshot, lookup: Lookup, keys: pa.Array, batch: tuple[int, int]
    ) -> pa.Table:
        """The rows of a lookup by a scan of files; row groups that cannot have any are left out."""
        base = self._columns(table, snapshot, lookup)
        key_rows = base
        if lookup.column is not None:
            key_rows = Source((Column(KEY, lookup.column.type),), None, versioned(pa.table({KEY: keys})))
        return self.second_runner.rows(
            self.lookup_cache.plan(lookup),
            lambda relation, _version: key_rows if relation == KEYS else base,
            *batch,
        )

    def _columns(self, table: Table, snapshot: Snapshot, lookup: Lookup) -> Source:
        others = (k.columns for k in self.lookup_cache.lookups() if self.table(k.relation) is table)
        return self.snapshot_cache.columns(table, snapshot, lookup.columns, others)


def table_of(storage: Storage, relation: str) -> Table | None:
    """The table that has the rows of a relation; None if all there is of it are changes of a transaction."""
    try:
        return storage.relations.rows(relation)
    except UnknownRelation:
        return None


def _row_group_limit(snapshot: Snapshot, column: str) -> int:
    """Up to how many row groups are decoded for a lookup by a column."""
    limit = snapshot.row_groups // 4 + FEW_ROW_GROUPS
    if column in (snapshot.key, snapshot.record.sorted_by):
        limit = max(limit, SORTED_ROW_GROUPS)
    return min(MANY_ROW_GROUPS, limit)

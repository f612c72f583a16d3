"""Where the snapshots of tables are: in files that the catalog names, or with the engine alone.

A snapshot in files is written in three steps, so that no crash loses it and no reader sees half of it: the files are
made durable (:meth:`Snapshots.write`), the journal names them, and the table is attached to them
(:meth:`Snapshots.attach`).  A database in memory leaves its rows with the engine: it writes nothing, and there is
nothing to attach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from tidings.engine.arrow import conform
from tidings.engine.backend import Backend
from tidings.engine.changes import no_changes
from tidings.engine.location import Location
from tidings.engine.source import Source
from tidings.engine.sql.row_queries import rows_query
from tidings.ir.relation import Version
from tidings.settlement import taking_in
from tidings.store.catalog.journal import Journal
from tidings.store.catalog.log_entries import merged
from tidings.store.filesystem import discard
from tidings.store.fold_job import FoldJob
from tidings.store.records import SnapshotRecord
from tidings.store.relation.row_groups import DecodedCache
from tidings.store.relation.small_states import SMALL_ROWS, base_at_hand, hold, small_state
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.snapshot_writer import SnapshotTarget, is_writable_here, write_rows, write_snapshot
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """A snapshot that is durable, and that no catalog names yet."""

    table: Table
    record: SnapshotRecord


class Snapshots(Protocol):
    """Writes the snapshots of one database, and opens them."""

    files: dict[int, Snapshot]
    """The snapshots that are in files, by the ids of their tables."""

    @property
    def verified(self) -> set[str]:
        """The files whose bytes are known to be those that were written."""

    def load(self, table: Table, data: Any) -> list[WrittenSnapshot]:
        """Give an empty table its first rows, sorted; the snapshot of them where they are in files."""

    def write(self, tables: Sequence[Table], at: int) -> list[WrittenSnapshot]:
        """Write the rows of tables at an instant to files; nothing where this process writes none."""

    def discard(self, snapshots: Sequence[WrittenSnapshot]) -> None:
        """Remove the files of snapshots that no catalog will name."""

    def attach(self, table: Table, record: SnapshotRecord) -> None:
        """Let a snapshot that the catalog names be the base of a table."""

    def fold(self, table: Table, *, merge: bool) -> None:
        """Let a table's present rows be its base; with ``merge`` its log becomes one entry."""

    def fold_job(self, table: Table, *, merge: bool) -> FoldJob | None:
        """What another thread needs to fold a table; None where only the owner's thread can read its rows."""


@dataclass(slots=True)
class EngineSnapshots:
    """The bases of a database in memory: its engine holds them, and nobody else can read them."""

    backend: Backend
    files: dict[int, Snapshot] = field(init=False, default_factory=dict)

    @property
    def verified(self) -> set[str]:
        return set()

    def load(self, table: Table, data: Any) -> list[WrittenSnapshot]:
        table.set_base(table.name, self.backend.load(table.name, table.columns, data, table.sort_column))
        if isinstance(data, pa.Table):
            hold(table, data)
        return []

    def write(self, tables: Sequence[Table], at: int) -> list[WrittenSnapshot]:
        return []

    def discard(self, snapshots: Sequence[WrittenSnapshot]) -> None:
        """There are no files."""

    def attach(self, table: Table, record: SnapshotRecord) -> None:
        """No catalog names snapshots of a database in memory."""

    def fold(self, table: Table, *, merge: bool) -> None:
        at = table.last
        query = rows_query(self.backend, table.name, table.source(Version.CURRENT, 0, at))
        rows = self.backend.fetch(query, table.columns)
        name = f"{table.name}@{at}"
        size = self.backend.load(name, table.columns, rows, table.sort_column)
        if table.base not in (None, name):
            self.backend.unload(str(table.base))
        table.set_base(name, size, at)
        hold(table, rows)

    def fold_job(self, table: Table, *, merge: bool) -> None:
        """The engine of another thread cannot read the rows."""


@dataclass(slots=True)
class FileSnapshots:
    """The snapshots of a database in a folder."""

    backend: Backend
    journal: Journal
    root: Location
    files: dict[int, Snapshot] = field(init=False, default_factory=dict)
    decoded: DecodedCache = field(default_factory=DecodedCache)
    """What has been read of files."""

    @property
    def verified(self) -> set[str]:
        """The files whose bytes are known to be those that were written."""
        return self.decoded.verified

    def load(self, table: Table, data: Any) -> list[WrittenSnapshot]:
        """Write rows to files as they come, and let the table have those of the files: rows are sorted once."""
        name = table.name
        record = self._written_as_given(table, data)
        self.verified.update(file.path for file in record.files)
        snapshot = self.files[table.id] = self._snapshot(table, record)
        snapshot.load_into(self.backend, name, cached=False)
        table.set_base(name, record.rows)
        return [WrittenSnapshot(table, record)]

    def _written_as_given(self, table: Table, data: Any) -> SnapshotRecord:
        """The snapshot of rows: few are written by this process, others by the engine."""
        target, name = self._target(table), table.name
        if isinstance(data, pa.Table) and self._is_small(target, data):
            return write_rows(target, conform(data, table.schema), 0)
        self.backend.offer(name, table.columns, data)
        try:
            query = rows_query(self.backend, name, Source(table.columns, name, no_changes(table.columns)))
            return write_snapshot(self.backend, target, query, 0)
        finally:
            self.backend.unload(name)

    def _is_small(self, target: SnapshotTarget, rows: pa.Table) -> bool:
        """Whether it takes less to write rows in this process: to plan that takes Spark longer."""
        return self.backend.looks_up_first and rows.num_rows <= SMALL_ROWS and is_writable_here(target)

    def write(self, tables: Sequence[Table], at: int) -> list[WrittenSnapshot]:
        """Write the rows of tables to files; a reader writes none, and keeps what it computes in memory."""
        if self.journal.is_reader:
            return []
        return [WrittenSnapshot(table, self._written(table, at)) for table in tables]

    def _written(self, table: Table, at: int) -> SnapshotRecord:
        target, rows = self._target(table), self._small_rows(table, at)
        if rows is not None and self._is_small(target, rows):
            record = write_rows(target, rows, at)
        else:
            record = self._written_by_engine(table, at)
        self.verified.update(file.path for file in record.files)
        return record

    def _small_rows(self, table: Table, at: int) -> pa.Table | None:
        """The rows of a table at its last instant, if they are few; None too where only the engine has them."""
        if not self.backend.looks_up_first or table.last > at or table.history.since_base() > SMALL_ROWS:
            return None
        base = base_at_hand(table, self.files.get(table.id))
        return None if base is None else small_state(table.columns, base, table.history.unfolded()())

    def _written_by_engine(self, table: Table, at: int) -> SnapshotRecord:
        query = rows_query(self.backend, table.name, table.source(Version.CURRENT, 0, at))
        return write_snapshot(self.backend, self._target(table), query, at)

    def _target(self, table: Table) -> SnapshotTarget:
        return SnapshotTarget.of(table, self.root, self.journal.contents.branch)

    def discard(self, snapshots: Sequence[WrittenSnapshot]) -> None:
        for snapshot in snapshots:
            discard(self.root / snapshot.record.folder)

    def attach(self, table: Table, record: SnapshotRecord) -> None:
        table.load_entries_by(self.journal.entry_loader(table.id))
        snapshot = self._snapshot(table, record)
        snapshot.check()
        name = f"{table.name}@{record.folder.rpartition('/')[2]}"
        snapshot.load_into(self.backend, name)
        if table.base is not None:
            self.backend.unload(table.base)
        table.set_base(name, record.rows, record.time)
        table.verify_base = snapshot.verify
        self.files[table.id] = snapshot

    def _snapshot(self, table: Table, record: SnapshotRecord) -> Snapshot:
        dropped = table.dropped_since(record.layout)
        key, added = table.lookup_column, table.added_values
        return Snapshot(self.root, record, table.columns, key, added, self.decoded, dropped)

    def fold(self, table: Table, *, merge: bool) -> None:
        record = self._written(table, table.last)
        entry = merged(self._target(table), table.history.unfolded()()) if merge else None
        adopt(self.journal, self, table, Snapshot(self.root, record, table.columns, table.key_column), entry)

    def fold_job(self, table: Table, *, merge: bool) -> FoldJob:
        snapshot = self.files.get(table.id)
        return FoldJob(
            table=table,
            target=self._target(table),
            base=None if snapshot is None else snapshot.record,
            added_values=table.added_values,
            dropped=() if snapshot is None else snapshot.dropped,
            entries=table.history.unfolded(),
            at=table.last,
            merge=merge,
            key=table.row_key,
        )


def adopt(
    journal: Journal, snapshots: Snapshots, table: Table, snapshot: Snapshot, merged: dict[str, Any] | None = None
) -> None:
    """Let a snapshot that is written but not named yet be the base of a table.

    ``merged`` is one log entry in the place of those since the table's last base.
    """
    record = replace(snapshot.record, forgotten=table.forgotten)
    snapshot.check()
    since = table.base_time if table.base is not None else -1
    snapshots.verified.update(file.path for file in record.files)
    journal.record_fold(record, merged)
    with taking_in():
        snapshots.attach(table, record)
        if merged is not None:
            table.merge_entries(since)

"""The journal of a database in a folder: definitions, commits, log entries, snapshots and cursors, in its catalog.

Each method that writes is one transaction of the catalog (:mod:`tidings.store.catalog.session`), made of single writes
(:mod:`tidings.store.catalog.writes`).  Files are written first, made durable, and named by the catalog after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, delete, insert, select, update

from tidings.engine.location import Location
from tidings.settlement import Settlement
from tidings.store.catalog import schema, writes
from tidings.store.catalog.contents import CatalogContents
from tidings.store.catalog.identity import FolderIdentity
from tidings.store.catalog.journal import NameChange
from tidings.store.catalog.log_entries import stored
from tidings.store.catalog.session import Session
from tidings.store.catalog.writer_lock import WriterLock
from tidings.store.fault_points import point
from tidings.store.records import BEGAN, Batch, Definition, NamedSubscription, Replacement, SnapshotRecord
from tidings.store.relation.schema_evolution import LoadWritten

# statements of every commit, built once
_COMMITTED, _ENTRY = insert(schema.committed), insert(schema.entry)


@dataclass(slots=True)
class CatalogJournal:
    """The record of one database, opened by its only writer, or by a reader."""

    folder: Location
    url: str | URL = field(repr=False)
    read_only: bool = False
    lock: WriterLock | None = None
    """What keeps other writers out of the folder; a reader has none."""
    session: Session = field(init=False)
    contents: CatalogContents = field(init=False)
    _name_change: NameChange | None = field(init=False, default=None)
    """What relations that are altered, dropped or loaded now are recorded with."""

    def __post_init__(self) -> None:
        self.session = Session(self.url, self.read_only, FolderIdentity(self.folder))
        self.contents = CatalogContents(self.folder, self.session)

    @property
    def settlement(self) -> Settlement:
        return self.session.settlement

    @property
    def is_reader(self) -> bool:
        return self.read_only

    @property
    def rule_tables(self) -> Session:
        return self.session

    @property
    def has_rule_tables(self) -> bool:
        return True

    def entry_loader(self, relation: int) -> LoadWritten:
        return partial(self.contents.log_entries, relation)

    def close(self) -> None:
        self.session.close()
        if self.lock is not None:
            self.lock.release()

    # definitions

    def define(self, definitions: list[Definition], snapshots: list[SnapshotRecord], view: int | None = None) -> None:
        with self.session.writing() as connection:
            for definition in definitions:
                writes.define(connection, definition)
            for snapshot in snapshots:
                writes.set_snapshot(connection, snapshot)
            if view is not None:
                writes.add_cursor(connection, view, snapshots[0].time)
            point("define.written")
        point("define.done")

    def redefine(self, definition: Definition) -> None:
        with self._defining() as connection:
            writes.redefine(connection, definition)
            point("redefine.written")
        point("redefine.done")

    def undefine(self, relations: list[int]) -> None:
        with self._defining() as connection:
            writes.undefine(connection, relations)
            point("undefine.written")
        point("undefine.done")

    @contextmanager
    def changing_names(self, change: NameChange) -> Iterator[None]:
        self._name_change = change
        try:
            yield
        finally:
            self._name_change = None

    @contextmanager
    def _defining(self) -> Iterator[Connection]:
        """A transaction that alters, drops or loads, and records which names change by it."""
        with self.session.writing() as connection:
            if self._name_change is not None:
                writes.change_names(connection, self._name_change.names, self._name_change.time)
            yield connection
        if self._name_change is not None:
            self._name_change.recorded = True

    def replace(self, replacement: Replacement) -> None:
        with self.session.writing() as connection:
            writes.undefine(connection, replacement.removed)
            for definition in replacement.added:
                writes.define(connection, definition)
                if definition.kind == "stored":
                    writes.add_cursor(connection, definition.id, 0)
            for definition in replacement.changed:
                writes.redefine(connection, definition)
            for view, snapshots in replacement.snapshots.items():
                writes.refill(connection, view, snapshots)
            writes.outdate(connection, replacement.outdated)
            if replacement.defined_at is not None:
                writes.change_names(connection, [replacement.name.lower()], replacement.defined_at)
            point("replace.written")
        point("replace.done")

    # rows

    def record(self, batch: Batch) -> None:
        rows = [stored(self.folder, e, self.contents.branch) for e in batch.entries]
        point("commit.files")
        transaction = self.session.writing if batch.extra_writes else self.session.writing_rows
        with transaction() as connection:
            if batch.committed is not None:
                connection.execute(_COMMITTED, {"time": batch.committed})
            if batch.began is not None:
                writes.note(connection, BEGAN, str(batch.began))
            for definition in batch.groupings:
                writes.define(connection, definition)
            for view, snapshots in batch.refilled.items():
                writes.refill(connection, view, snapshots)
            if rows:
                connection.execute(_ENTRY, rows)
            point("commit.logged")
            writes.move_cursors(connection, batch.cursors)
            for relation, error in batch.failed.items():
                writes.set_cursor(connection, relation, error=error)
            writes.outdate(connection, batch.outdated)
            for write in batch.extra_writes:
                write(connection)
            point("commit.written")
        point("commit.done")

    def record_load(
        self,
        snapshots: Sequence[SnapshotRecord],
        outdated: Iterable[int],
        committed: int,
        extra_write: Callable[[Connection], None] | None = None,
        *,
        is_first: bool = False,
    ) -> None:
        with self._defining() as connection:
            connection.execute(_COMMITTED, {"time": committed})
            if is_first:
                writes.note(connection, BEGAN, str(committed))
            for snapshot in snapshots:
                writes.set_snapshot(connection, snapshot)
            writes.outdate(connection, outdated)
            if extra_write is not None:
                extra_write(connection)
            point("fold.written")
        point("fold.done")

    def record_fold(self, snapshot: SnapshotRecord, merged: dict[str, Any] | None = None) -> None:
        with self._defining() as connection:
            writes.set_snapshot(connection, snapshot)
            if merged is not None:
                writes.merge_entries(connection, snapshot.relation, merged)
            point("fold.written")
        point("fold.done")

    def forget(self, horizons: dict[int, int]) -> None:
        with self.session.writing() as connection:
            for relation, until in horizons.items():
                old = (schema.entry.c.relation == relation) & (schema.entry.c.time <= until)
                writes.drop_entries(connection, old)
                of_relation = schema.base.c.relation == relation
                connection.execute(update(schema.base).where(of_relation).values(forgotten=until))
            point("forget.written")
        point("forget.done")

    # notes, subscriptions and files

    def note(self, key: str) -> str | None:
        with self.session.reading() as connection:
            value: str | None = connection.execute(
                select(schema.meta.c.value).where(schema.meta.c.key == key)
            ).scalar_one_or_none()
        return value

    def take_note(self, key: str, value: str) -> None:
        with self.settlement.settling(), self.session.writing() as connection:
            writes.note(connection, key, value)

    def subscribe(self, name: str, subscription: NamedSubscription | None) -> None:
        with self.session.writing() as connection:
            writes.subscribe(connection, name, subscription)
            point("subscribe.written")

    def files_removed(self, files: Iterable[str]) -> None:
        with self.session.writing() as connection:
            connection.execute(delete(schema.litter).where(schema.litter.c.file.in_(list(files))))
            point("vacuum.written")

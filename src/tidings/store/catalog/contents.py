"""What a journal holds: read when a database is opened, by readers that keep up with the writer, and by a vacuum.

A database in memory holds nothing that could be read back, except its named subscriptions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import func, select

from tidings.engine.location import Location
from tidings.store.catalog import log_entries, schema
from tidings.store.catalog.session import Session
from tidings.store.records import Cursor, Definition, NamedSubscription, SnapshotFile, SnapshotRecord
from tidings.store.relation.log import EntryFacts
from tidings.store.relation.schema_evolution import WrittenRows


class Contents(Protocol):
    """What is recorded of one database."""

    def frozen(self) -> AbstractContextManager[None]:
        """Let all that is read inside be of one moment, whatever the writer does meanwhile."""

    def revision(self) -> int:
        """A number that is another one whenever something was written."""

    def last_commit(self) -> int:
        """The time of the last transaction; 0 before the first."""

    def definitions(self) -> list[Definition]:
        """Every relation, in the order they were made."""

    def defined_since(self) -> dict[str, int]:
        """Since when names mean what they mean, where they meant something else before."""

    def log_facts(self, relation: int, after: int = -1) -> list[EntryFacts]:
        """The log entries of a relation that end after an instant, in order, without their rows."""

    def snapshots(self) -> dict[int, SnapshotRecord]:
        """The snapshots by relation."""

    def cursors(self) -> dict[int, Cursor]:
        """How far every stored view has come."""

    def subscriptions(self) -> dict[str, NamedSubscription]:
        """The named subscriptions."""

    def branches(self) -> dict[str, int]:
        """The branches of the history, in order, each with the last instant before it began."""

    @property
    def branch(self) -> str:
        """The branch of the present writer."""

    def folders(self) -> Sequence[Location]:
        """The folders that hold files of rows; nothing else is written to them."""

    def files(self) -> set[str]:
        """Every file of rows that is referenced, relative to the database."""

    def unreferenced_files(self) -> dict[str, int]:
        """Files that were referenced once, and until when, in microseconds of the machine's clock."""


@dataclass(frozen=True, slots=True)
class MemoryContents:
    """A database that ends with its process: only its named subscriptions are recorded."""

    named: dict[str, NamedSubscription] = field(default_factory=dict)
    branch: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def frozen(self) -> AbstractContextManager[None]:
        return nullcontext()

    def revision(self) -> int:
        return 0

    def last_commit(self) -> int:
        return 0

    def definitions(self) -> list[Definition]:
        return []

    def defined_since(self) -> dict[str, int]:
        return {}

    def log_facts(self, relation: int, after: int = -1) -> list[EntryFacts]:
        return []

    def snapshots(self) -> dict[int, SnapshotRecord]:
        return {}

    def cursors(self) -> dict[int, Cursor]:
        return {}

    def subscriptions(self) -> dict[str, NamedSubscription]:
        return self.named

    def branches(self) -> dict[str, int]:
        return {self.branch: 0}

    def folders(self) -> Sequence[Location]:
        return ()

    def files(self) -> set[str]:
        return set()

    def unreferenced_files(self) -> dict[str, int]:
        return {}


@dataclass(frozen=True, slots=True)
class CatalogContents:
    """A database in a folder: what its catalog holds, and the log entries that are in files."""

    folder: Location
    session: Session

    def frozen(self) -> AbstractContextManager[None]:
        return self.session.frozen()

    def revision(self) -> int:
        return self.session.revision()

    def last_commit(self) -> int:
        with self.session.reading() as connection:
            return int(connection.execute(select(func.max(schema.committed.c.time))).scalar() or 0)

    def definitions(self) -> list[Definition]:
        with self.session.reading() as connection:
            rows = connection.execute(select(schema.relation).order_by(schema.relation.c.id)).all()
        return [Definition(r.id, r.name, r.kind, json.loads(r.definition), r.created) for r in rows]

    def defined_since(self) -> dict[str, int]:
        with self.session.reading() as connection:
            return {r.name: r.time for r in connection.execute(select(schema.began)).all()}

    def log_facts(self, relation: int, after: int = -1) -> list[EntryFacts]:
        entry = schema.entry
        query = select(entry.c.first, entry.c.time, entry.c.rows, entry.c.growth, entry.c.loses)
        of_relation = entry.c.relation == relation
        with self.session.reading() as connection:
            rows = connection.execute(query.where(of_relation, entry.c.time > after).order_by(entry.c.time)).all()
        return [EntryFacts(r.first, r.time, r.rows, r.growth, bool(r.loses)) for r in rows]

    def log_entries(self, relation: int, first: int, last: int) -> list[WrittenRows]:
        """The rows of the log entries that have some from one instant to another, in order."""
        entry = schema.entry
        query = select(entry.c.inline, entry.c.file, entry.c.layout).where(
            entry.c.relation == relation, entry.c.time >= first, entry.c.first <= last
        )
        with self.session.reading() as connection:
            rows = connection.execute(query.order_by(entry.c.time)).all()
        return [WrittenRows(log_entries.changes(self.folder, r.inline, r.file), r.layout) for r in rows]

    def snapshots(self) -> dict[int, SnapshotRecord]:
        with self.session.reading() as connection:
            rows = connection.execute(select(schema.base)).all()
            files: dict[int, list[SnapshotFile]] = {}
            for r in connection.execute(select(schema.base_file).order_by(schema.base_file.c.file)).all():
                low, high = json.loads(r.bounds)
                files.setdefault(r.relation, []).append(SnapshotFile(r.file, r.rows, r.bytes, low, high, r.checksum))
        return {
            r.relation: SnapshotRecord(
                *(r.relation, r.time, r.rows, r.folder, tuple(files.get(r.relation, []))),
                *(r.forgotten, r.sorted_by, r.layout),
            )
            for r in rows
        }

    def cursors(self) -> dict[int, Cursor]:
        with self.session.reading() as connection:
            rows = connection.execute(select(schema.cursor)).all()
        return {r.relation: Cursor(r.since, r.until, r.error) for r in rows}

    def subscriptions(self) -> dict[str, NamedSubscription]:
        with self.session.reading() as connection:
            rows = connection.execute(select(schema.subscription).order_by(schema.subscription.c.name)).all()
        return {r.name: NamedSubscription(r.query, r.position) for r in rows}

    def branches(self) -> dict[str, int]:
        return self.session.branches()

    @property
    def branch(self) -> str:
        """The branch of the present writer, by which the names of its files begin."""
        return next(reversed(self.branches()))

    def folders(self) -> Sequence[Location]:
        return self.folder / "log", self.folder / "base"

    def files(self) -> set[str]:
        with self.session.reading() as connection:
            logs = connection.execute(select(schema.entry.c.file).where(schema.entry.c.file.is_not(None))).scalars()
            parts = connection.execute(select(schema.base_file.c.file)).scalars()
            return {*logs, *parts}

    def unreferenced_files(self) -> dict[str, int]:
        with self.session.reading() as connection:
            return {r.file: r.since for r in connection.execute(select(schema.litter)).all()}

"""The durable record of a database: definitions, commits, log entries, snapshots and cursors.

Each method that writes is one transaction of the catalog (:mod:`tidings.store.relations.session`), made of single
writes (:mod:`tidings.store.relations.writes`).  A large log entry is written to a file first, made durable, and named
by the catalog after; a file nobody names is litter that a vacuum removes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, delete, func, insert, select, update

from tidings.store.catalog import schema, writes
from tidings.store.catalog.session import Session
from tidings.store.fault_points import point
from tidings.store.files import pack, read_parquet, unpack, write_parquet
from tidings.store.records import (
    Batch,
    Cursor,
    Definition,
    LogEntry,
    NamedSubscription,
    Replacement,
    SnapshotFile,
    SnapshotRecord,
)
from tidings.store.relation.log import EntryFacts, Load

INLINE = 64 * 1024
"""Log entries of up to this many bytes are kept in the catalog itself."""


@dataclass(slots=True)
class NameBeginning:
    """Names, in small letters, that mean something else from an instant on, by the next definition."""

    names: list[str]
    time: int
    recorded: bool = False
    """Whether the catalog has it."""


@dataclass(slots=True)
class Journal:
    """The record of one database, opened by its only writer, or by a reader."""

    folder: Path
    url: str = field(repr=False)
    read_only: bool = False
    beginning: NameBeginning | None = None
    """What relations that are altered or dropped now are recorded with."""
    _session: Session = field(init=False)

    def __post_init__(self) -> None:
        self._session = Session(self.url, self.read_only)

    @property
    def session(self) -> Session:
        """The catalog, for those who keep tables of their own in it."""
        return self._session

    def close(self) -> None:
        self._session.close()

    def frozen(self) -> AbstractContextManager[None]:
        """Let all that is read inside be of one moment, whatever the writer does meanwhile."""
        return self._session.frozen()

    def revision(self) -> int:
        """A number that is another one whenever something was written."""
        return self._session.revision()

    # definitions

    def definitions(self) -> list[Definition]:
        """Every relation, in the order they were made."""
        with self._session.reading() as connection:
            rows = connection.execute(select(schema.relation).order_by(schema.relation.c.id)).all()
        return [Definition(r.id, r.name, r.kind, json.loads(r.definition), r.created) for r in rows]

    def define(self, made: list[Definition], bases: list[SnapshotRecord], view: int | None = None) -> None:
        """Add relations with the rows they begin with; ``view`` is the one among them that is a stored view."""
        with self._session.writing() as connection:
            for one in made:
                writes.define(connection, one)
            for base in bases:
                writes.set_base(connection, base)
            if view is not None:
                writes.add_cursor(connection, view, bases[0].time)
            point("define.written")
        point("define.done")

    def redefine(self, changed: Definition) -> None:
        """Give a relation another definition."""
        with self._defining() as connection:
            writes.redefine(connection, changed)
            point("redefine.written")
        point("redefine.done")

    def undefine(self, relations: list[int]) -> None:
        """Remove relations and all that is recorded of them; their files are litter from here on."""
        with self._defining() as connection:
            writes.undefine(connection, relations)
            point("undefine.written")
        point("undefine.done")

    @contextmanager
    def _defining(self) -> Iterator[Connection]:
        """A transaction that alters, drops or loads, and notes which names begin anew by it."""
        with self._session.writing() as connection:
            if self.beginning is not None:
                writes.begin(connection, self.beginning.names, self.beginning.time)
            yield connection
        if self.beginning is not None:
            self.beginning.recorded = True

    def replace(self, change: Replacement) -> None:
        """Put one view in the place of another."""
        with self._session.writing() as connection:
            writes.undefine(connection, change.gone)
            for one in change.made:
                writes.define(connection, one)
                if one.kind == "stored":
                    writes.add_cursor(connection, one.id, 0)
            for one in change.changed:
                writes.redefine(connection, one)
            for view, bases in change.bases.items():
                writes.refill(connection, view, bases)
            writes.outdate(connection, change.outdated)
            if change.began is not None:
                writes.begin(connection, [change.name.lower()], change.began)
            point("replace.written")
        point("replace.done")

    # commits

    def record(self, batch: Batch) -> None:
        """Record a transaction, or what a wave made of stored views, or both at once.

        When this returns, it will be there after any crash.
        """
        rows = [self.stored(e) for e in batch.entries]
        point("commit.files")
        with self._session.writing() as connection:
            if batch.committed is not None:
                connection.execute(insert(schema.committed).values(time=batch.committed))
            for one in batch.made:
                writes.define(connection, one)
            for view, bases in batch.refilled.items():
                writes.refill(connection, view, bases)
            if rows:
                connection.execute(insert(schema.entry), rows)
            point("commit.logged")
            for relation, until in batch.cursors.items():
                writes.set_cursor(connection, relation, until=until, error=None)
            for relation, error in batch.failed.items():
                writes.set_cursor(connection, relation, error=error)
            writes.outdate(connection, batch.outdated)
            for act in batch.also:
                act(connection)
            point("commit.written")
        point("commit.done")

    def stored(self, entry: LogEntry) -> dict[str, Any]:
        """A log entry as a row of the catalog; what is large is in a file then, and durable."""
        known = EntryFacts.of(entry.rows, entry.time if entry.first is None else entry.first, entry.time)
        facts = {
            "relation": entry.relation,
            "time": known.last,
            "first": known.first,
            "rows": known.rows,
            "growth": known.growth,
            "loses": int(known.loses),
        }
        if entry.rows.nbytes <= INLINE:
            return facts | {"inline": pack(entry.rows), "file": None}
        name = f"log/{entry.relation}/{entry.time}-{uuid.uuid4().hex[:8]}.parquet"
        write_parquet(entry.rows, self.folder / name)
        return facts | {"inline": None, "file": name}

    def last_commit(self) -> int:
        """The time of the last transaction; 0 before the first."""
        with self._session.reading() as connection:
            return int(connection.execute(select(func.max(schema.committed.c.time))).scalar() or 0)

    # the log

    def logged(self, relation: int, after: int = -1) -> list[EntryFacts]:
        """The log entries of a relation that end after an instant, in order, without their rows."""
        entry = schema.entry
        of = entry.c.relation == relation
        wanted = select(entry.c.first, entry.c.time, entry.c.rows, entry.c.growth, entry.c.loses)
        with self._session.reading() as connection:
            rows = connection.execute(wanted.where(of, entry.c.time > after).order_by(entry.c.time)).all()
        return [EntryFacts(r.first, r.time, r.rows, r.growth, bool(r.loses)) for r in rows]

    def entries(self, relation: int, first: int, last: int) -> list[pa.Table]:
        """The rows of the log entries that have some from one instant to another, in order."""
        entry = schema.entry
        wanted = select(entry.c.inline, entry.c.file).where(
            entry.c.relation == relation, entry.c.time >= first, entry.c.first <= last
        )
        with self._session.reading() as connection:
            found = connection.execute(wanted.order_by(entry.c.time)).all()
        return [unpack(r.inline) if r.inline is not None else read_parquet(self.folder, r.file) for r in found]

    def entries_of(self, relation: int) -> Load:
        """Where the rows of one relation's log entries are found."""
        return lambda first, last: self.entries(relation, first, last)

    def forget(self, horizons: dict[int, int]) -> None:
        """Remove the log entries of relations up to an instant each, which a snapshot must hold."""
        with self._session.writing() as connection:
            for relation, until in horizons.items():
                old = (schema.entry.c.relation == relation) & (schema.entry.c.time <= until)
                writes.drop_entries(connection, old)
                of = schema.base.c.relation == relation
                connection.execute(update(schema.base).where(of).values(forgotten=until))
            point("forget.written")
        point("forget.done")

    # snapshots and cursors

    def bases(self) -> dict[int, SnapshotRecord]:
        """The snapshots by relation."""
        with self._session.reading() as connection:
            bases = connection.execute(select(schema.base)).all()
            files: dict[int, list[SnapshotFile]] = {}
            for r in connection.execute(select(schema.base_file).order_by(schema.base_file.c.file)).all():
                low, high = json.loads(r.bounds)
                files.setdefault(r.relation, []).append(SnapshotFile(r.file, r.rows, r.bytes, low, high))
        return {
            b.relation: SnapshotRecord(
                b.relation, b.time, b.rows, b.folder, tuple(files.get(b.relation, [])), b.forgotten, b.sorted_by
            )
            for b in bases
        }

    def rebase(
        self,
        base: SnapshotRecord,
        outdated: Iterable[int] = (),
        merged: dict[str, Any] | None = None,
        also: Callable[[Connection], None] | None = None,
    ) -> None:
        """Replace a relation's snapshot; the log stays.  The rows of ``outdated`` views do not count any more.

        ``merged`` is one entry, :meth:`stored` already, to stand for all those between its first instant and its last.
        ``also`` records more in the same transaction.
        """
        with self._defining() as connection:
            writes.set_base(connection, base)
            writes.outdate(connection, outdated)
            if merged is not None:
                writes.merge_entries(connection, base.relation, merged)
            if also is not None:
                also(connection)
            point("fold.written")
        point("fold.done")

    def cursors(self) -> dict[int, Cursor]:
        """How far every stored view has come."""
        with self._session.reading() as connection:
            found = connection.execute(select(schema.cursor)).all()
        return {r.relation: Cursor(r.since, r.until, r.error) for r in found}

    # subscriptions

    def subscriptions(self) -> dict[str, NamedSubscription]:
        """The named subscriptions."""
        with self._session.reading() as connection:
            found = connection.execute(select(schema.subscription).order_by(schema.subscription.c.name)).all()
        return {r.name: NamedSubscription(r.query, r.position) for r in found}

    def subscribe(self, name: str, named: NamedSubscription | None) -> None:
        """Make a named subscription, or move it, or with None remove it."""
        with self._session.writing() as connection:
            writes.subscribe(connection, name, named)
            point("subscribe.written")

    def began(self) -> dict[str, int]:
        """Since when names mean what they mean, where they meant something else before."""
        with self._session.reading() as connection:
            return {r.name: r.time for r in connection.execute(select(schema.began)).all()}

    # what is named

    def files(self) -> set[str]:
        """Every file and folder the catalog names, relative to the database."""
        with self._session.reading() as connection:
            logs = connection.execute(select(schema.entry.c.file).where(schema.entry.c.file.is_not(None))).scalars()
            parts = connection.execute(select(schema.base_file.c.file)).scalars()
            return {*logs, *parts}

    def litter(self) -> dict[str, int]:
        """Files that were named once, and when they ceased to be, in microseconds of the machine's clock."""
        with self._session.reading() as connection:
            return {r.file: r.since for r in connection.execute(select(schema.litter)).all()}

    def swept(self, files: Iterable[str]) -> None:
        """Note that such files are gone."""
        with self._session.writing() as connection:
            connection.execute(delete(schema.litter).where(schema.litter.c.file.in_(list(files))))
            point("vacuum.written")

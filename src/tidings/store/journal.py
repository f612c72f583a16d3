"""The durable record of a database: definitions, commits, log entries, snapshots and cursors.

Each method that writes is one transaction of the catalog, begun by checking that this writer is still the writer.  A
large log entry is written to a file first, made durable, and named by the catalog after; a file nobody names is litter
that a vacuum removes.

The catalog is SQLite beside the data, in WAL mode with full sync, or PostgreSQL.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import ColumnElement, Connection, Engine, create_engine, delete, event, func, insert, select, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from tidings.errors import CatalogFailed, ReadOnly, StaleWriter
from tidings.store import schema
from tidings.store.fault import point
from tidings.store.files import pack, read_parquet, unpack, write_parquet
from tidings.store.log import Facts, Load

INLINE = 64 * 1024
"""Log entries of up to this many bytes are kept in the catalog itself."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One relation as the catalog knows it."""

    id: int
    name: str
    kind: str
    definition: dict[str, Any]
    created: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What changed in a relation, up to an instant: its columns, ``__t`` and ``__w``."""

    relation: int
    time: int
    rows: pa.Table
    first: int | None = None
    """The first instant, if there are several."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of a snapshot, with the least and greatest value of its sort key."""

    path: str
    rows: int
    bytes: int
    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Base:
    """A snapshot of a relation: as of when, and its files in the order of its key."""

    relation: int
    time: int
    rows: int
    folder: str
    files: tuple[File, ...]
    forgotten: int = 0
    """The log of the relation reaches back to this instant."""
    sorted_by: str = ""


@dataclass(frozen=True, slots=True)
class Cursor:
    """From when to when the rows of a stored view reach, and why it stays there."""

    since: int
    until: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """A named subscription: what it follows, and the instant up to which it has it; None before its snapshot."""

    query: str
    position: int | None


@dataclass(slots=True)
class Batch:
    """What is to be recorded in one transaction of the catalog: all of it or nothing."""

    committed: int | None = None
    entries: list[Entry] = field(default_factory=list)
    cursors: dict[int, int] = field(default_factory=dict)
    """How far stored views have come."""
    refilled: dict[int, list[Base]] = field(default_factory=dict)
    """The snapshots of stored views that begin anew."""
    failed: dict[int, str] = field(default_factory=dict)
    """Why stored views stay where they are."""
    outdated: list[int] = field(default_factory=list)
    """Stored views whose rows do not count any more."""
    made: list[Definition] = field(default_factory=list)
    """Groupings that are kept from now on."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What changes when a view is replaced: relations that go, that come, and that are defined otherwise."""

    gone: list[int]
    made: list[Definition]
    changed: list[Definition]
    bases: dict[int, list[Base]]
    """The rows that a stored view begins with, or begins anew with."""
    outdated: list[int]
    """Stored views whose rows do not count any more."""
    name: str
    began: int | None
    """Since when the name means something else, if it does."""


@dataclass(slots=True)
class Journal:
    """The record of one database, opened by its only writer, or by a reader."""

    folder: Path
    url: str
    read_only: bool = False
    epoch: int = 0
    _engine: Engine = field(init=False)
    _revision: int = 0
    _held: Connection | None = None
    _in_doubt: bool = False

    def __post_init__(self) -> None:
        self._engine = _engine(self.url)
        if self.read_only:
            with self._reading() as connection:
                schema.check(connection)
            return
        with self._failures(), self._engine.begin() as connection:
            schema.prepare(connection)
            self.epoch = self._epoch(connection) + 1
            self._revision = self._fact(connection, "revision")
            of = schema.meta.c.key == "epoch"
            connection.execute(update(schema.meta).where(of).values(value=str(self.epoch)))

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction of the writer, who must still be the writer."""
        if self.read_only:
            raise ReadOnly()
        if self._in_doubt:
            raise CatalogFailed(reason="whether it took the last transaction is not known; open the database again")
        with self._failures(), self._engine.connect() as connection, connection.begin() as transaction:
            found = self._epoch(connection)
            if found != self.epoch:
                raise StaleWriter(epoch=self.epoch, present=found)
            yield connection
            self._revision += 1
            of = schema.meta.c.key == "revision"
            connection.execute(update(schema.meta).where(of).values(value=str(self._revision)))
            try:
                transaction.commit()
            except SQLAlchemyError:
                if not self._landed():
                    raise

    def _landed(self) -> bool:
        """Whether the catalog took a transaction though its answer was lost; until that is known nothing is written."""
        self._in_doubt = True
        with self._engine.connect().execution_options(reading=True) as connection:
            found = self._fact(connection, "revision")
        self._in_doubt = False
        return found == self._revision

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if self._held is not None:
            with self._failures():
                yield self._held
            return
        with self._failures(), self._engine.connect().execution_options(reading=True) as connection:
            yield connection

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let all that is read inside be of one moment, whatever the writer does meanwhile."""
        options = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with self._failures(), self._engine.connect().execution_options(reading=True, **options) as connection:
            self._held = connection
            try:
                yield
            finally:
                self._held = None

    def revision(self) -> int:
        """A number that is another one whenever something was written."""
        with self._reading() as connection:
            return self._fact(connection, "revision")

    def _fact(self, connection: Connection, key: str) -> int:
        return int(connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar_one())

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            raise CatalogFailed(reason=str(error.orig)) from error
        except SQLAlchemyError as error:
            raise CatalogFailed(reason=str(error)) from error

    def _epoch(self, connection: Connection) -> int:
        lock = select(schema.meta.c.value).where(schema.meta.c.key == "epoch").with_for_update()
        return int(connection.execute(lock).scalar_one())

    # definitions

    def definitions(self) -> list[Definition]:
        """Every relation, in the order they were made."""
        with self._reading() as connection:
            rows = connection.execute(select(schema.relation).order_by(schema.relation.c.id)).all()
        return [Definition(r.id, r.name, r.kind, json.loads(r.definition), r.created) for r in rows]

    def define(self, made: list[Definition], bases: list[Base], view: int | None = None) -> None:
        """Add relations with the rows they begin with; ``view`` is the one among them that is a stored view."""
        with self._writing() as connection:
            for one in made:
                self._define(connection, one)
            for base in bases:
                self._set_base(connection, base)
            if view is not None:
                at = bases[0].time
                connection.execute(insert(schema.cursor).values(relation=view, since=at, until=at))
            point("define.written")
        point("define.done")

    def _define(self, connection: Connection, made: Definition) -> None:
        facts = {"kind": made.kind, "definition": json.dumps(made.definition), "created": made.created}
        connection.execute(insert(schema.relation).values(id=made.id, name=made.name, **facts))

    def redefine(self, changed: Definition) -> None:
        """Give a relation another definition."""
        with self._writing() as connection:
            self._redefine(connection, changed)

    def _redefine(self, connection: Connection, changed: Definition) -> None:
        connection.execute(
            update(schema.relation)
            .where(schema.relation.c.id == changed.id)
            .values(name=changed.name, definition=json.dumps(changed.definition))
        )

    def undefine(self, relations: list[int]) -> None:
        """Remove relations and all that is recorded of them; their files are litter from here on."""
        with self._writing() as connection:
            self._undefine(connection, relations)
            point("undefine.written")

    def _undefine(self, connection: Connection, relations: list[int]) -> None:
        self._drop_entries(connection, schema.entry.c.relation.in_(relations))
        self._drop_base(connection, schema.base_file.c.relation.in_(relations))
        for table in (schema.base, schema.cursor):
            connection.execute(delete(table).where(table.c.relation.in_(relations)))
        connection.execute(delete(schema.relation).where(schema.relation.c.id.in_(relations)))

    def replace(self, change: Replacement) -> None:
        """Put one view in the place of another."""
        with self._writing() as connection:
            self._undefine(connection, change.gone)
            for one in change.made:
                self._define(connection, one)
                if one.kind == "stored":
                    connection.execute(insert(schema.cursor).values(relation=one.id, since=0, until=0))
            for one in change.changed:
                self._redefine(connection, one)
            for view, bases in change.bases.items():
                self._refill(connection, view, bases)
            self._outdate(connection, change.outdated)
            if change.began is not None:
                self._begin(connection, [change.name.lower()], change.began)
            point("replace.written")
        point("replace.done")

    # commits

    def commit(self, time: int, entries: list[Entry], cursors: dict[int, int] | None = None) -> None:
        """Log a transaction; when this returns, it will be there after any crash."""
        self.record(Batch(time, entries, cursors or {}))

    def advance(self, entries: list[Entry], cursors: dict[int, int]) -> None:
        """Log what a wave made of stored views, with how far they have come."""
        self.record(Batch(None, entries, cursors))

    def record(self, batch: Batch) -> None:
        """Record a transaction, or what a wave made of stored views, or both at once."""
        rows = [self.stored(e) for e in batch.entries]
        point("commit.files")
        with self._writing() as connection:
            if batch.committed is not None:
                connection.execute(insert(schema.committed).values(time=batch.committed))
            for one in batch.made:
                self._define(connection, one)
            for view, bases in batch.refilled.items():
                self._refill(connection, view, bases)
            if rows:
                connection.execute(insert(schema.entry), rows)
            point("commit.logged")
            for relation, until in batch.cursors.items():
                self._set_cursor(connection, relation, until=until, error=None)
            for relation, error in batch.failed.items():
                self._set_cursor(connection, relation, error=error)
            self._outdate(connection, batch.outdated)
            point("commit.written")
        point("commit.done")

    def _outdate(self, connection: Connection, views: list[int]) -> None:
        cursor = schema.cursor
        connection.execute(update(cursor).where(cursor.c.relation.in_(views)).values(since=cursor.c.until + 1))

    def _set_cursor(self, connection: Connection, relation: int, **values: Any) -> None:
        connection.execute(update(schema.cursor).where(schema.cursor.c.relation == relation).values(**values))

    def stored(self, entry: Entry) -> dict[str, Any]:
        """A log entry as a row of the catalog; what is large is in a file then, and durable."""
        known = Facts.of(entry.rows, entry.time if entry.first is None else entry.first, entry.time)
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
        with self._reading() as connection:
            return int(connection.execute(select(func.max(schema.committed.c.time))).scalar() or 0)

    # the log

    def logged(self, relation: int, after: int = -1) -> list[Facts]:
        """The log entries of a relation that end after an instant, in order, without their rows."""
        entry = schema.entry
        of = entry.c.relation == relation
        wanted = select(entry.c.first, entry.c.time, entry.c.rows, entry.c.growth, entry.c.loses)
        with self._reading() as connection:
            rows = connection.execute(wanted.where(of, entry.c.time > after).order_by(entry.c.time)).all()
        return [Facts(r.first, r.time, r.rows, r.growth, bool(r.loses)) for r in rows]

    def entries(self, relation: int, first: int, last: int) -> list[pa.Table]:
        """The rows of the log entries that have some from one instant to another, in order."""
        entry = schema.entry
        wanted = select(entry.c.inline, entry.c.file).where(
            entry.c.relation == relation, entry.c.time >= first, entry.c.first <= last
        )
        with self._reading() as connection:
            found = connection.execute(wanted.order_by(entry.c.time)).all()
        return [unpack(r.inline) if r.inline is not None else read_parquet(self.folder, r.file) for r in found]

    def entries_of(self, relation: int) -> Load:
        """Where the rows of one relation's log entries are found."""
        return lambda first, last: self.entries(relation, first, last)

    def forget(self, horizons: dict[int, int]) -> None:
        """Remove the log entries of relations up to an instant each, which a snapshot must hold."""
        with self._writing() as connection:
            for relation, until in horizons.items():
                old = (schema.entry.c.relation == relation) & (schema.entry.c.time <= until)
                self._drop_entries(connection, old)
                of = schema.base.c.relation == relation
                connection.execute(update(schema.base).where(of).values(forgotten=until))
            point("forget.written")
        point("forget.done")

    def _drop_entries(self, connection: Connection, which: ColumnElement[bool]) -> None:
        files = select(schema.entry.c.file).where(which, schema.entry.c.file.is_not(None))
        self._litter(connection, connection.execute(files).scalars().all())
        connection.execute(delete(schema.entry).where(which))

    def _litter(self, connection: Connection, files: Iterable[str | None]) -> None:
        """Note that files are not named any more, from now on."""
        rows = [{"file": f, "since": time.time_ns() // 1000} for f in files]
        if rows:
            connection.execute(insert(schema.litter), rows)

    # snapshots and cursors

    def bases(self) -> dict[int, Base]:
        """The snapshots by relation."""
        with self._reading() as connection:
            bases = connection.execute(select(schema.base)).all()
            files: dict[int, list[File]] = {}
            for r in connection.execute(select(schema.base_file).order_by(schema.base_file.c.file)).all():
                low, high = json.loads(r.bounds)
                files.setdefault(r.relation, []).append(File(r.file, r.rows, r.bytes, low, high))
        return {
            b.relation: Base(
                b.relation, b.time, b.rows, b.folder, tuple(files.get(b.relation, [])), b.forgotten, b.sorted_by
            )
            for b in bases
        }

    def rebase(self, base: Base, outdated: Iterable[int] = (), merged: dict[str, Any] | None = None) -> None:
        """Replace a relation's snapshot; the log stays.  The rows of ``outdated`` views do not count any more.

        ``merged`` is one entry, :meth:`stored` already, to stand for all those between its first instant and its last.
        """
        with self._writing() as connection:
            self._set_base(connection, base)
            self._outdate(connection, list(outdated))
            if merged is not None:
                entry = schema.entry
                old = (entry.c.relation == base.relation) & entry.c.time.between(merged["first"], merged["time"])
                self._drop_entries(connection, old)
                connection.execute(insert(entry), [merged])
                past = schema.committed.c.time < select(func.max(schema.committed.c.time)).scalar_subquery()
                connection.execute(delete(schema.committed).where(past))
            point("fold.written")
        point("fold.done")

    def _set_base(self, connection: Connection, base: Base) -> None:
        self._drop_base(connection, schema.base_file.c.relation == base.relation)
        connection.execute(delete(schema.base).where(schema.base.c.relation == base.relation))
        values = {"relation": base.relation, "time": base.time, "rows": base.rows, "folder": base.folder}
        connection.execute(insert(schema.base).values(**values, forgotten=base.forgotten, sorted_by=base.sorted_by))
        for f in base.files:
            bounds = json.dumps([f.low, f.high])
            facts = {"relation": base.relation, "file": f.path, "rows": f.rows, "bytes": f.bytes, "bounds": bounds}
            connection.execute(insert(schema.base_file).values(**facts))

    def _drop_base(self, connection: Connection, which: ColumnElement[bool]) -> None:
        files = select(schema.base_file.c.file).where(which)
        self._litter(connection, connection.execute(files).scalars().all())
        connection.execute(delete(schema.base_file).where(which))

    def refill(self, view: int, bases: list[Base]) -> None:
        """Let a stored view begin anew with other rows; what was logged of it before does not count any more."""
        self.record(Batch(refilled={view: bases}))

    def _refill(self, connection: Connection, view: int, bases: list[Base]) -> None:
        for base in bases:
            self._drop_entries(connection, schema.entry.c.relation == base.relation)
            self._set_base(connection, base)
        self._set_cursor(connection, view, since=bases[0].time, until=bases[0].time, error=None)
        point("refill.written")

    def cursors(self) -> dict[int, Cursor]:
        """How far every stored view has come."""
        with self._reading() as connection:
            found = connection.execute(select(schema.cursor)).all()
        return {r.relation: Cursor(r.since, r.until, r.error) for r in found}

    def fail(self, relation: int, error: str) -> None:
        """Mark a stored view as failed, where it stands."""
        self.record(Batch(failed={relation: error}))

    # subscriptions

    def subscriptions(self) -> dict[str, Named]:
        """The named subscriptions."""
        with self._reading() as connection:
            found = connection.execute(select(schema.subscription).order_by(schema.subscription.c.name)).all()
        return {r.name: Named(r.query, r.position) for r in found}

    def subscribe(self, name: str, named: Named | None) -> None:
        """Make a named subscription, or move it, or with None remove it."""
        with self._writing() as connection:
            connection.execute(delete(schema.subscription).where(schema.subscription.c.name == name))
            if named is not None:
                values = {"name": name, "query": named.query, "position": named.position}
                connection.execute(insert(schema.subscription).values(**values))
            point("subscribe.written")

    def began(self) -> dict[str, int]:
        """Since when names mean what they mean, where they meant something else before."""
        with self._reading() as connection:
            return {r.name: r.time for r in connection.execute(select(schema.began)).all()}

    def begin(self, names: list[str], time: int) -> None:
        """Note that names mean something else from an instant on."""
        with self._writing() as connection:
            self._begin(connection, names, time)

    def _begin(self, connection: Connection, names: list[str], time: int) -> None:
        connection.execute(delete(schema.began).where(schema.began.c.name.in_(names)))
        for name in names:
            connection.execute(insert(schema.began).values(name=name, time=time))

    # what is named

    def files(self) -> set[str]:
        """Every file and folder the catalog names, relative to the database."""
        with self._reading() as connection:
            logs = connection.execute(select(schema.entry.c.file).where(schema.entry.c.file.is_not(None))).scalars()
            parts = connection.execute(select(schema.base_file.c.file)).scalars()
            return {*logs, *parts}

    def litter(self) -> dict[str, int]:
        """Files that were named once, and when they ceased to be, in microseconds of the machine's clock."""
        with self._reading() as connection:
            return {r.file: r.since for r in connection.execute(select(schema.litter)).all()}

    def swept(self, files: Iterable[str]) -> None:
        """Note that such files are gone."""
        with self._writing() as connection:
            connection.execute(delete(schema.litter).where(schema.litter.c.file.in_(list(files))))
            point("vacuum.written")


def _engine(url: str) -> Engine:
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _durable)
        event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    """Writers take their turn at once, so that none has to give up at its end; readers wait for nobody."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reading") else "BEGIN IMMEDIATE")


def _durable(connection: Any, _: object) -> None:
    """SQLite as it should be: transactions begun by us, a write-ahead log, synced at every commit."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")

"""Sessions with the catalog: its transactions, and who may write.

A transaction of the writer begins by checking that it is still the writer (the epoch) and ends by raising a number, the
revision.  By it readers know that something was recorded, and the writer knows whether a commit whose answer was lost
was taken.

Where connections come from is in :mod:`tidings.store.catalog.connect`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from sqlalchemy import URL, Connection, Engine, bindparam, event, select, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from tidings.errors import CatalogFailed, DatabaseClosed, DatabaseForked, ReadOnly, StaleWriter
from tidings.settlement import Settlement
from tidings.store.catalog import facts, schema
from tidings.store.catalog.advisory_lock import CatalogLock, alone, taken
from tidings.store.catalog.connect import catalog_engine
from tidings.store.catalog.identity import FolderIdentity
from tidings.store.write_failures import catalog_failure


@dataclass(slots=True)
class Session:
    """The catalog of one database, as its only writer or a reader is connected to it."""

    url: str | URL = field(repr=False)
    read_only: bool = False
    identity: FolderIdentity | None = None
    """The note in the folder of the database that says which catalog is its own."""
    epoch: int = field(init=False, default=0)
    id: str = field(init=False, default="")
    """The id of the database."""
    _branches: dict[str, int] | None = field(init=False, default=None)
    _engine: Engine = field(init=False)
    _revision: int = field(init=False, default=0)
    _connections: list[Any] = field(init=False, default_factory=list)
    """The driver's connections that are not closed; an interrupt may have taken one away from the engine."""
    _frozen: Connection | None = field(init=False, default=None)
    """The connection that all reads use while they are to see one moment."""
    _in_doubt: bool = field(init=False, default=False)
    _lock: CatalogLock | None = field(init=False, default=None)
    settlement: Settlement = field(init=False, default_factory=Settlement)
    """Tells that something was recorded which memory may not have yet."""
    rule_writes: int = field(init=False, default=0)
    """A number that grows with every transaction that may have written to the tables of rules, once that has ended."""
    _is_closed: bool = field(init=False, default=False)
    _process: int = field(init=False, default_factory=os.getpid)
    _mutex: RLock = field(init=False, default_factory=RLock)
    """One transaction of the writer at a time: those who commit and those who deliver are threads of one process."""

    def __post_init__(self) -> None:
        self._engine = catalog_engine(self.url, read_only=self.read_only)
        event.listen(self._engine, "connect", lambda raw, _: self._connections.append(raw))
        event.listen(self._engine, "close", lambda raw, _: self._forget(raw))
        if self.read_only:
            self._begin_reading()
            return
        try:
            with _failures(), self._engine.begin() as connection:
                alone(connection)
                is_new = schema.prepare(connection)
                self._lock = taken(self._engine, connection)
                self._begin_writing(connection, is_new=is_new)
            if self.identity is not None:
                self.identity.write(self.id, self._revision)
        except BaseException:
            self.close()
            raise

    def _begin_reading(self) -> None:
        """Refuse a catalog that cannot be read, or is not that of the folder; the writer may go on meanwhile."""
        noted = None if self.identity is None else self.identity.read()
        with self.reading() as connection:
            schema.check(connection, self._engine.url.render_as_string())
            self.id = facts.read(connection, facts.ID) or ""
            if self.identity is not None and noted is not None and self.id:
                self.identity.check_noted(noted, self.id, _fact(connection, "revision"))

    def _begin_writing(self, connection: Connection, *, is_new: bool) -> None:
        """Be the writer: raise the epoch, and begin a branch of history."""
        self._revision = _fact(connection, "revision")
        id = facts.read(connection, facts.ID)
        if self.identity is not None and (is_new or id is not None):
            self.identity.check(id, self._revision)
        self.id = id or facts.new_id(connection)
        self.epoch = _epoch(connection) + 1
        connection.execute(update(schema.meta).where(schema.meta.c.key == "epoch").values(value=str(self.epoch)))
        self._branches = facts.begin_branch(connection)

    def close(self) -> None:
        """End all connections; another writer may come."""
        self._is_closed = True
        if self.identity is not None:
            self.identity.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._engine.dispose()
        for connection in tuple(self._connections):
            with suppress(self._engine.dialect.loaded_dbapi.Error):
                connection.close()

    def _forget(self, connection: Any) -> None:
        with suppress(ValueError):
            self._connections.remove(connection)

    def _require_open(self) -> None:
        """Refuse to use connections that were closed, or that belong to another process."""
        if self._is_closed:
            raise DatabaseClosed()
        if os.getpid() != self._process:
            raise DatabaseForked(opened=self._process, forked=os.getpid())

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction of the writer, who must still be the writer."""
        try:
            with self.writing_rows() as connection:
                yield connection
        finally:
            self.rule_writes += 1

    @contextmanager
    def writing_rows(self) -> Iterator[Connection]:
        """The same, for one that does not write to the tables of rules."""
        self._require_open()
        if self.read_only:
            raise ReadOnly()
        if self._in_doubt:
            raise CatalogFailed(reason="whether it took the last transaction is not known; open the database again")
        with self._mutex, _failures(), self._engine.connect() as connection, connection.begin() as transaction:
            epoch = _epoch(connection)
            if epoch != self.epoch:
                raise StaleWriter(epoch=self.epoch, present=epoch)
            yield connection
            self._revision += 1
            connection.execute(_SET_REVISION, {"revision": str(self._revision)})
            self.settlement.begin()
            try:
                transaction.commit()
            except SQLAlchemyError:
                if not self._landed():
                    self.settlement.end()
                    raise
            if self.identity is not None:
                self.identity.advance(self.id, self._revision)

    def _landed(self) -> bool:
        """Whether the catalog took a transaction though its answer was lost; until that is known nothing is written."""
        self._in_doubt = True
        with self._engine.connect().execution_options(reading=True) as connection:
            revision = _fact(connection, "revision")
        self._in_doubt = False
        return revision == self._revision

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read from."""
        self._require_open()
        if self._frozen is not None:
            with _failures():
                yield self._frozen
            return
        with _failures(), self._engine.connect().execution_options(reading=True) as connection:
            yield connection

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let all that is read inside be of one moment, whatever the writer does meanwhile."""
        options = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with _failures(), self._engine.connect().execution_options(reading=True, **options) as connection:
            self._frozen = connection
            try:
                yield
            finally:
                self._frozen = None

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment, beside all others."""
        self._require_open()
        options = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with _failures(), self._engine.connect().execution_options(reading=True, **options) as connection:
            yield connection

    def branches(self) -> dict[str, int]:
        """The branches of the history, in order, each with the last instant before it began; the last is a writer's."""
        if self._branches is not None:
            return self._branches
        with self.reading() as connection:
            return facts.branches(connection)

    def revision(self) -> int:
        """A number that is another one whenever something was written."""
        with self.reading() as connection:
            return _fact(connection, "revision")


def _fact(connection: Connection, key: str) -> int:
    return int(connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar_one())


def _epoch(connection: Connection) -> int:
    return int(connection.execute(_LOCKED_EPOCH).scalar_one())


# statements of every transaction, built once
_LOCKED_EPOCH = select(schema.meta.c.value).where(schema.meta.c.key == "epoch").with_for_update()
_SET_REVISION = update(schema.meta).where(schema.meta.c.key == "revision").values(value=bindparam("revision"))


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise catalog_failure(error.orig) from error
    except SQLAlchemyError as error:
        raise CatalogFailed(reason=str(error)) from error

"""Sessions with the catalog: its transactions, and who may write.

A transaction of the writer begins by checking that it is still the writer (the epoch) and ends by raising a number, the
revision.  By it readers know that something was recorded, and the writer knows whether a commit whose answer was lost
was taken.

Where connections come from is in :mod:`tidings.store.catalog.connect`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock

from sqlalchemy import URL, Connection, Engine, bindparam, select, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from tidings.errors import CatalogFailed, ReadOnly, StaleWriter
from tidings.store.catalog import schema
from tidings.store.catalog.advisory_lock import CatalogLock, alone, taken
from tidings.store.catalog.connect import catalog_engine
from tidings.store.write_failures import catalog_failure


@dataclass(slots=True)
class Session:
    """The catalog of one database, as its only writer or a reader is connected to it."""

    url: str | URL = field(repr=False)
    read_only: bool = False
    epoch: int = field(init=False, default=0)
    _engine: Engine = field(init=False)
    _revision: int = field(init=False, default=0)
    _frozen: Connection | None = field(init=False, default=None)
    """The connection that all reads use while they are to see one moment."""
    _in_doubt: bool = field(init=False, default=False)
    _lock: CatalogLock | None = field(init=False, default=None)
    _mutex: RLock = field(init=False, default_factory=RLock)
    """One transaction of the writer at a time: those who commit and those who deliver are threads of one process."""

    def __post_init__(self) -> None:
        self._engine = catalog_engine(self.url, read_only=self.read_only)
        if self.read_only:
            with self.reading() as connection:
                schema.check(connection)
            return
        try:
            with _failures(), self._engine.begin() as connection:
                alone(connection)
                schema.prepare(connection)
                self._lock = taken(self._engine, connection)
                self.epoch = _epoch(connection) + 1
                self._revision = _fact(connection, "revision")
                is_epoch = schema.meta.c.key == "epoch"
                connection.execute(update(schema.meta).where(is_epoch).values(value=str(self.epoch)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all connections; another writer may come."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction of the writer, who must still be the writer."""
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
            try:
                transaction.commit()
            except SQLAlchemyError:
                if not self._landed():
                    raise

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

"""Transactions over the tables of rules and messages: what the catalog of a folder and one in memory have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Protocol

from sqlalchemy import Connection, Engine, StaticPool, create_engine

from tidings.errors import DatabaseClosed
from tidings.settlement import Settlement
from tidings.store.catalog import schema


class CatalogTransactions(Protocol):
    """Where transactions come from: :class:`tidings.store.catalog.session.Session`, or :class:`MemoryCatalog`."""

    @property
    def rule_writes(self) -> int:
        """A number that grows with every transaction that may have written to these tables, once that has ended."""

    def writing(self) -> AbstractContextManager[Connection]: ...

    def reading(self) -> AbstractContextManager[Connection]: ...


@dataclass(slots=True)
class MemoryCatalog:
    """The tables of rules and messages in memory, for a database that has no catalog on disk."""

    settlement: Settlement = field(default_factory=Settlement)
    rule_writes: int = field(init=False, default=0)
    _engine: Engine = field(init=False)
    _is_closed: bool = field(init=False, default=False)
    _mutex: RLock = field(init=False, default_factory=RLock)

    def __post_init__(self) -> None:
        self._engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        schema.metadata.create_all(self._engine, schema.RULE_TABLES)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        try:
            with self.reading() as connection:
                yield connection
                self.settlement.begin()
        finally:
            self.rule_writes += 1

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        if self._is_closed:
            raise DatabaseClosed()
        with self._mutex, self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self._is_closed = True
        self._engine.dispose()

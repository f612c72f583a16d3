"""What a store asks of the record behind it, whether that is a catalog on disk or ends with the process.

Each method that writes is atomic: all of it is recorded, or nothing is and the caller is told.  A journal in memory
(:mod:`tidings.store.catalog.memory_journal`) keeps subscriptions and the tables of rules, and ignores everything else:
the rows and definitions are in memory already.  A durable one (:mod:`tidings.store.catalog.catalog_journal`) makes one
transaction of the catalog of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection

from tidings.engine.location import Location
from tidings.settlement import Settlement
from tidings.store.catalog.contents import Contents
from tidings.store.catalog.transactions import CatalogTransactions
from tidings.store.records import Batch, Definition, NamedSubscription, Replacement, SnapshotRecord
from tidings.store.relation.schema_evolution import LoadWritten


@dataclass(slots=True)
class NameChange:
    """Names, in lower case, that come to mean something else at an instant, by the next definition or load."""

    names: list[str]
    time: int
    recorded: bool = False
    """Whether the definition was recorded, and the change of names with it."""


class Journal(Protocol):
    """Records what happens to one database."""

    @property
    def folder(self) -> Location | None:
        """The folder of the database; None for one in memory."""

    @property
    def contents(self) -> Contents:
        """What is recorded."""

    @property
    def settlement(self) -> Settlement:
        """Tells that something was recorded which memory may not have yet."""

    @property
    def is_reader(self) -> bool:
        """Whether another process may write, and this one may not."""

    @property
    def rule_tables(self) -> CatalogTransactions:
        """Transactions over the tables of rules, firings and the outbox."""

    @property
    def has_rule_tables(self) -> bool:
        """Whether there may be rules; a database in memory has no tables for them before the first."""

    def entry_loader(self, relation: int) -> LoadWritten | None:
        """Reads the rows of one relation's log entries; None where they are in memory alone."""

    def close(self) -> None:
        """End all connections; another writer may come."""

    # definitions

    def define(self, definitions: list[Definition], snapshots: list[SnapshotRecord], view: int | None = None) -> None:
        """Add relations with the rows they begin with; ``view`` is the one among them that is a stored view."""

    def redefine(self, definition: Definition) -> None:
        """Give a relation another definition."""

    def undefine(self, relations: list[int]) -> None:
        """Remove relations and all that is recorded of them."""

    def replace(self, replacement: Replacement) -> None:
        """Put one view in the place of another."""

    def changing_names(self, change: NameChange) -> AbstractContextManager[None]:
        """Record a change of names together with the relation that is altered, dropped or loaded inside."""

    # rows

    def record(self, batch: Batch) -> None:
        """Record a transaction, or what a wave made of stored views, or both at once.

        When this returns, it will be there after any crash that the journal outlives.
        """

    def record_load(
        self,
        snapshots: Sequence[SnapshotRecord],
        outdated: Iterable[int],
        committed: int,
        extra_write: Callable[[Connection], None] | None = None,
        *,
        is_first: bool = False,
    ) -> None:
        """Give relations the rows they begin with; the rows of ``outdated`` views do not count any more.

        It counts as the commit of an instant; the first one there is if it ``is_first``.
        """

    def record_fold(self, snapshot: SnapshotRecord, merged: dict[str, Any] | None = None) -> None:
        """Replace a relation's snapshot; the log stays.

        ``merged`` is a row of the catalog for one entry that stands for all those between its first instant and its
        last (:func:`tidings.store.catalog.log_entries.stored`).
        """

    def forget(self, horizons: dict[int, int]) -> None:
        """Remove the log entries of relations up to an instant each; a snapshot must hold what they did."""

    # notes, subscriptions and files

    def note(self, key: str) -> str | None:
        """What was noted under a key: something about the database that can be found out again."""

    def take_note(self, key: str, value: str) -> None:
        """Note something under a key, in the place of what was there."""

    def subscribe(self, name: str, subscription: NamedSubscription | None) -> None:
        """Make a named subscription, or move it, or with None remove it."""

    def files_removed(self, files: Iterable[str]) -> None:
        """Note that files that were not referenced any more are gone."""

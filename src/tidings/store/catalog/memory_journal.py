"""The journal of a database that ends with its process: it keeps what is nowhere else, and records nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from tidings.settlement import Settlement
from tidings.store.catalog.contents import MemoryContents
from tidings.store.catalog.journal import NameChange
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.records import Batch, Definition, NamedSubscription, Replacement, SnapshotRecord


@dataclass(slots=True)
class MemoryJournal:
    """Named subscriptions, and the tables of rules once there is a rule."""

    contents: MemoryContents = field(init=False, default_factory=MemoryContents)
    settlement: Settlement = field(init=False, default_factory=Settlement)
    _catalog: MemoryCatalog | None = field(init=False, default=None)

    @property
    def folder(self) -> None:
        """There is none."""

    @property
    def is_reader(self) -> bool:
        return False

    @property
    def rule_tables(self) -> MemoryCatalog:
        """The tables of rules, made when they are first asked for: a database without rules pays nothing for them."""
        if self._catalog is None:
            self._catalog = MemoryCatalog(self.settlement)
        return self._catalog

    @property
    def has_rule_tables(self) -> bool:
        return self._catalog is not None

    def entry_loader(self, relation: int) -> None:
        """Log entries stay in memory."""

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()

    def define(self, definitions: list[Definition], snapshots: list[SnapshotRecord], view: int | None = None) -> None:
        """Nothing to record."""

    def redefine(self, definition: Definition) -> None:
        """Nothing to record."""

    def undefine(self, relations: list[int]) -> None:
        """Nothing to record."""

    def replace(self, replacement: Replacement) -> None:
        """Nothing to record."""

    @contextmanager
    def changing_names(self, change: NameChange) -> Iterator[None]:
        """The names have changed once what is done inside has succeeded."""
        yield
        change.recorded = True

    def record(self, batch: Batch) -> None:
        """Make the extra writes, all or none; the rest of a batch is in memory already."""
        self._write(batch.extra_writes)

    def record_load(
        self,
        snapshots: Sequence[SnapshotRecord],
        outdated: Iterable[int],
        committed: int,
        extra_write: Callable[[Connection], None] | None = None,
        *,
        is_first: bool = False,
    ) -> None:
        """Make the extra write."""
        self._write([] if extra_write is None else [extra_write])

    def _write(self, extra_writes: list[Callable[[Connection], None]]) -> None:
        if extra_writes:
            with self.rule_tables.writing() as connection:
                for write in extra_writes:
                    write(connection)

    def record_fold(self, snapshot: SnapshotRecord, merged: dict[str, Any] | None = None) -> None:
        """Nothing to record."""

    def forget(self, horizons: dict[int, int]) -> None:
        """Nothing to record."""

    def note(self, key: str) -> str | None:
        """Nothing is noted: it would end with the process."""
        return None

    def take_note(self, key: str, value: str) -> None:
        """Nothing to record."""

    def subscribe(self, name: str, subscription: NamedSubscription | None) -> None:
        if subscription is None:
            self.contents.named.pop(name, None)
        else:
            self.contents.named[name] = subscription

    def files_removed(self, files: Iterable[str]) -> None:
        """There are no files."""

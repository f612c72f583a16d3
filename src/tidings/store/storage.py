"""Where a database is kept: in a folder with a catalog, or in this process alone.

All changes of what is kept go through here, in one order: files first, then one transaction of the catalog, then the
tables in memory.  A crash before the transaction leaves files nobody names; after it, everything is there when the
database is opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection

from tidings.engine.backend import Backend
from tidings.errors import DamagedFile, DatabaseMissing, NotWritable, ReadOnly
from tidings.ir.relation import Column, Version
from tidings.store.catalog import schema
from tidings.store.catalog.connect import is_writable
from tidings.store.catalog.definitions import again, in_order, known_groupings, of_kept, of_stored, of_view
from tidings.store.catalog.journal import Journal, NameBeginning
from tidings.store.catalog.pending import Pending
from tidings.store.catalog.session import Session
from tidings.store.catalog.writer_lock import WriterLock
from tidings.store.records import Batch, Definition, LogEntry, NamedSubscription, SnapshotRecord
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.relations import Relations
from tidings.store.relation.row_groups import DecodedCache
from tidings.store.relation.snapshot import Snapshot, Target, text_of, written
from tidings.store.relation.table import Table, span
from tidings.store.relation.view import Refresh, StoredView, View
from tidings.store.rules.outbox import MemoryCatalog
from tidings.store.write_failures import refused

Bind = Callable[[str, str, tuple[str, ...]], View]
"""A view from its name, its query and the names of its columns, if it names them."""

Keep = Callable[[View, bool, Refresh, dict[str, str]], StoredView]
"""A view to be stored, still without rows: strict or not, when it is refreshed, and the names of its groupings."""


@dataclass(slots=True)
class Storage:
    """The keeper of one database's rows and definitions."""

    backend: Backend
    relations: Relations
    folder: Path | None = None
    journal: Journal | None = None
    lock: WriterLock | None = None
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    decoded: DecodedCache = field(default_factory=DecodedCache)
    touched: dict[int, Table] = field(default_factory=dict)
    """Tables whose logs have grown since somebody looked."""
    many: int = 8
    """Log entries of more than this number become one when they are folded."""
    began: dict[str, int] = field(default_factory=dict)
    """Since when names, in small letters, mean what they mean, where they meant something else before."""
    revision: int = 0
    """That of the catalog when this process last looked."""
    needed: dict[int, int] = field(default_factory=dict)
    """From when on rules have still to read what changed, by rule."""
    definitions: list[Definition] = field(default_factory=list)
    """What the catalog defined when it was read."""
    _ids: int = 0
    _views: dict[str, int] = field(default_factory=dict)
    _pending: Pending | None = None
    _subscriptions: dict[str, NamedSubscription] = field(default_factory=dict)
    _memory: MemoryCatalog | None = None

    @property
    def writes(self) -> bool:
        """Whether there is a catalog that this process writes."""
        return self.journal is not None and not self.journal.read_only

    @property
    def is_reader(self) -> bool:
        """Whether another process may write."""
        return self.journal is not None and self.journal.read_only

    def require_writer(self) -> None:
        """Refuse to change what was opened for reading only."""
        if self.is_reader:
            raise ReadOnly()

    @property
    def rule_tables(self) -> Session | MemoryCatalog:
        """Where rules, firings and the outbox are kept: in the catalog, or in memory like everything else."""
        if self.journal is not None:
            return self.journal.session
        if self._memory is None:
            self._memory = MemoryCatalog()
            with self._memory.writing() as connection:
                schema.metadata.create_all(connection, schema.BESIDE)
        return self._memory

    @property
    def has_rule_tables(self) -> bool:
        """Whether there may be rules; a database in memory has no tables for them before the first."""
        return self.journal is not None or self._memory is not None

    def subscriptions(self) -> dict[str, NamedSubscription]:
        """The named subscriptions."""
        return self._subscriptions if self.journal is None else self.journal.subscriptions()

    def subscribe(self, name: str, named: NamedSubscription | None) -> None:
        """Make a named subscription, or move it, or with None remove it."""
        self.require_writer()
        if self.journal is not None:
            self.journal.subscribe(name, named)
        elif named is None:
            self._subscriptions.pop(name, None)
        else:
            self._subscriptions[name] = named

    def move_subscription(self, name: str, to: int) -> None:
        """Move a named subscription on; it never goes back, and one that was ended stays so."""
        known = self.subscriptions().get(name)
        if known is not None and (known.position is None or known.position < to):
            self.subscribe(name, NamedSubscription(known.query, to))

    @contextmanager
    def beginning(self, names: Iterable[str], at: int) -> Iterator[None]:
        """Let names mean something else from an instant on, by what is altered, dropped or loaded inside.

        Both are one transaction of the catalog; without it, the names mean what they meant.
        """
        self.require_writer()
        began = {name.lower(): at for name in names}
        if self.journal is None:
            yield
            self.began |= began
            return
        self.journal.beginning = beginning = NameBeginning(list(began), at)
        try:
            yield
        finally:
            self.journal.beginning = None
            if beginning.recorded:
                self.began |= began

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()
        if self._memory is not None:
            self._memory.close()
        if self.lock is not None:
            self.lock.release()

    # definitions

    def define(self, relation: Table | View | StoredView) -> None:
        """Keep a new relation; a stored view with the rows it has."""
        self.relations.check_free(relation.name)
        match relation:
            case Table():
                relation.id = self.next_id()
                self._record([of_table(relation)])
                if self.journal is not None:
                    relation.durable(self.journal.entries_of(relation.id))
            case View():
                self._views[relation.name] = self.next_id()
                self._record([of_view(self._views[relation.name], relation)])
            case StoredView():
                self._define_stored(relation)
        self.relations.add(relation)

    def _define_stored(self, view: StoredView) -> None:
        tables = [view.rows, *(t for t in view.tables.values() if t is not view.rows)]
        for table in tables:
            table.id = self.next_id()
        if self.journal is None:
            return
        made = [of_stored(view.rows.id, view), *(of_kept(t, view) for t in tables[1:])]
        bases = [self.written(t, view.until) for t in tables]
        self.journal.define(made, bases, view.rows.id)
        for table, base in zip(tables, bases, strict=True):
            self.rest_on(table, base)

    def identity(self, view: View | StoredView) -> int:
        """The number of a view in the catalog."""
        return self._views[view.name] if isinstance(view, View) else view.rows.id

    def identify(self, view: View | StoredView, id: int) -> None:
        """Know an unstored view by its number in the catalog."""
        self._views.pop(view.name, None)
        if isinstance(view, View):
            self._views[view.name] = id

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _record(self, made: list[Definition]) -> None:
        if self.journal is not None:
            self.journal.define(made, [])

    def undefine(self, name: str, kind: str) -> None:
        """Forget a relation nobody reads, and its rows."""
        dropped = self.relations.droppable(name, kind)
        match dropped:
            case Table():
                tables = [dropped]
            case StoredView():
                tables = list(dropped.tables.values())
            case View():
                tables = []
        if self.journal is not None:
            self.journal.undefine([t.id for t in tables] or [self._views[dropped.name]])
        self.relations.remove(dropped)
        for table in tables:
            if table.base is not None:
                self.backend.unload(table.base)

    # rows

    @contextmanager
    def together(self, committed: int | None = None) -> Iterator[Pending]:
        """Record what is done inside in one transaction of the catalog; if that fails, nothing has been done."""
        if self._pending is not None:
            yield self._pending
            return
        self._pending = pending = Pending(Batch(committed))
        try:
            yield pending
            if self.journal is not None and self.writes and not pending.is_empty:
                self.journal.record(pending.batch)
            elif self.journal is None and pending.batch.also:
                with self.rule_tables.writing() as connection:
                    for act in pending.batch.also:
                        act(connection)
        except BaseException:
            pending.roll_back()
            raise
        finally:
            self._pending = None
        pending.finish()

    def log(self, table: Table, entry: pa.Table) -> None:
        """Log changes of a table as part of what is recorded together."""
        if entry.num_rows:
            with self.together() as pending:
                mark, (first, last) = table.mark(), span(entry)
                pending.undo.append(lambda: table.back_to(mark))
                pending.batch.entries.append(LogEntry(table.id, last, entry, first))
                table.log(last, entry, first)
                self.touched[table.id] = table

    def load(
        self,
        table: Table,
        data: Any,
        key: str,
        readers: list[StoredView],
        check: Callable[[], None] | None = None,
        also: Callable[[Connection], None] | None = None,
    ) -> None:
        """Give an empty table the rows it begins with; stored views that read it begin anew.

        ``check`` may refuse them, ``also`` records more in the transaction of the catalog that records the load.
        """
        self.require_writer()
        table.rest_on(table.name, self.backend.load(table.name, table.columns, data, key))
        table.sorted_by = key
        try:
            if check is not None:
                check()
            if self.journal is not None:
                base = self.written(table, 0)
                self.journal.rebase(base, [v.rows.id for v in readers], also=also)
                self.rest_on(table, base)
            elif also is not None:
                with self.rule_tables.writing() as connection:
                    also(connection)
        except BaseException:
            self.backend.unload(table.name)
            table.rest_on(None, 0)
            raise
        for view in readers:
            view.outdate()

    # snapshots

    def fold(self, table: Table) -> None:
        """Let a table's present rows be its base; reading it then costs nothing for its history."""
        at = table.last
        if self.journal is not None:
            self.adopt(table, self.written(table, at), self._merged(table))
            return
        text = text_of(self.backend, table.name, table.source(Version.CURRENT, 0, at))
        rows = self.backend.fetch(text, table.columns)
        name = f"{table.name}@{at}"
        size = self.backend.load(name, table.columns, rows, table.sort_column)
        if table.base not in (None, name):
            self.backend.unload(str(table.base))
        table.rest_on(name, size, at)

    def _merged(self, table: Table) -> dict[str, Any] | None:
        """The log entries since the base as one, if they are many."""
        assert self.journal is not None
        return merged(self.journal, table.id, table.unfolded()()) if table.entries() > self.many else None

    def adopt(self, table: Table, base: SnapshotRecord, merged: dict[str, Any] | None = None) -> None:
        """Let a table rest on a snapshot that is written but not named yet; so may be one entry for its whole log."""
        assert self.journal is not None
        assert self.folder is not None
        base = replace(base, forgotten=table.forgotten)
        Snapshot(self.folder, base, table.columns, table.key_column).check()
        since = table.base_time if table.base is not None else -1
        self.journal.rebase(base, merged=merged)
        self.rest_on(table, base)
        if merged is not None:
            table.merge(since)

    def forget(self, before: int) -> None:
        """Forget what snapshots hold of the log up to an instant, but nothing a stored view has still to read."""
        tables = self.tables()
        behind = [v.until for v in self.relations.stored() if v.error is None and not v.is_outdated]
        before = min([before, *self.needed.values(), *behind])
        horizons = {t.id: found for t in tables if (found := t.horizon(before)) is not None}
        if not horizons:
            return
        if self.journal is not None:
            self.journal.forget(horizons)
        for table in tables:
            table.forget(before)

    def fanout(self, table: Table, column: str) -> float | None:
        """About how many rows a table has per value of a column; None where that is not known."""
        snapshot = self.snapshots.get(table.id)
        return None if snapshot is None else snapshot.fanout(column)

    def tables(self) -> list[Table]:
        """Everything that has rows: tables, stored views and what is kept for them."""
        kept = [t for view in self.relations.stored() for t in view.tables.values()]
        return [*(t for n in self.relations.names() if isinstance(t := self.relations.find(n), Table)), *kept]

    def written(self, table: Table, at: int) -> SnapshotRecord:
        """A table's rows at an instant as files that are durable, not yet named by the catalog."""
        assert self.folder is not None
        target = Target(table.id, table.name, table.columns, table.sort_column, self.folder)
        text = text_of(self.backend, table.name, table.source(Version.CURRENT, 0, at))
        return written(self.backend, target, text, at)

    def rest_on(self, table: Table, base: SnapshotRecord) -> None:
        """Let a table rest on a snapshot the catalog names."""
        assert self.folder is not None
        assert self.journal is not None
        table.durable(self.journal.entries_of(table.id))
        snapshot = Snapshot(self.folder, base, table.columns, table.lookup_column, table.fills, self.decoded)
        snapshot.check()
        name = f"{table.name}@{base.folder.rpartition('/')[2]}"
        snapshot.load_into(self.backend, name)
        if table.base is not None:
            self.backend.unload(table.base)
        table.rest_on(name, base.rows, base.time)
        self.snapshots[table.id] = snapshot

    # opening

    def restore(self, bind: Bind, keep: Keep) -> None:
        """Bring back what the catalog knows; views are bound again from their texts."""
        assert self.journal is not None
        with self.journal.frozen():
            self.revision = self.journal.revision()
            self._restore(self.journal, bind, keep)

    def restore_again(self, bind: Bind, keep: Keep) -> None:
        """Let go of everything and bring back what the catalog knows now."""
        assert self.journal is not None
        for table in self.tables():
            if table.base is not None:
                self.backend.unload(table.base)
        self.relations.clear()
        self.snapshots.clear()
        self._views.clear()
        self._restore(self.journal, bind, keep)

    def _restore(self, journal: Journal, bind: Bind, keep: Keep) -> None:
        bases, cursors, self.began = journal.bases(), journal.cursors(), journal.began()
        self.definitions = definitions = in_order(journal.definitions())
        self._ids = max((d.id for d in definitions), default=0)
        kept = {d.name: self.table(d, _typed(d.definition["columns"]), bases) for d in definitions if d.kind == "kept"}
        for found in definitions:
            facts = found.definition
            match found.kind:
                case "table":
                    self.relations.add(self.table(found, _typed(facts["columns"]), bases))
                case "view":
                    self._views[found.name] = found.id
                    self.relations.add(bind(found.name, facts["query"], tuple(facts["columns"])))
                case "stored":
                    view = bind(found.name, facts["query"], tuple(facts["columns"]))
                    rows = kept | {view.name: self.table(found, view.columns, bases)}
                    known = known_groupings(definitions, view.name)
                    refresh = Refresh(facts.get("refresh", Refresh.ON_ADVANCE))
                    self.relations.add(again(keep(view, facts["strict"], refresh, known), rows, cursors[found.id]))

    def table(self, found: Definition, columns: tuple[Column, ...], bases: dict[int, SnapshotRecord]) -> Table:
        """A table, or the rows of a stored view, as the catalog has them."""
        constraints = Constraints.from_json(found.definition.get("constraints", {}))
        role = found.definition.get("role", "table")
        table = Table(found.name, columns, constraints=constraints, id=found.id, role=role)
        journal = self.journal
        assert journal is not None
        base = bases.get(found.id)
        table.restore(journal.logged(found.id), journal.entries_of(found.id), base.forgotten if base else 0)
        self.touched[table.id] = table
        if base is not None:
            table.sorted_by = base.sorted_by
            try:
                self.rest_on(table, base)
            except DamagedFile as damage:
                table.base_size, table.base_time, table.damage = base.rows, base.time, damage
        return table


def merged(journal: Journal, relation: int, entries: list[pa.Table]) -> dict[str, Any]:
    """Log entries as one, durable if it is a file, not yet in the catalog."""
    rows = pa.concat_tables(entries).combine_chunks()
    first, last = span(rows)
    return journal.stored(LogEntry(relation, last, rows, first))


def in_memory(backend: Backend, relations: Relations | None = None) -> Storage:
    """A database that ends with its process."""
    return Storage(backend, relations or Relations())


def opened(
    backend: Backend, folder: Path, catalog: str | None, *, read_only: bool, relations: Relations | None = None
) -> Storage:
    """A database in a folder, which is made if it is not there; its writer locks it."""
    file = folder / "catalog.sqlite"
    url = catalog or f"sqlite:///{file}"
    if read_only:
        if not folder.is_dir() or (catalog is None and not file.is_file()):
            raise DatabaseMissing(path=str(folder))
        return Storage(backend, relations or Relations(), folder, Journal(folder, url, read_only=True))
    _make(folder)
    lock = WriterLock(folder)
    lock.take()
    try:
        return Storage(backend, relations or Relations(), folder, Journal(folder, url), lock)
    except BaseException:
        lock.release()
        raise


def _make(folder: Path) -> None:
    """Make a folder if it is not there, and refuse one that cannot be written before anything in it is touched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(error, folder) from None
    if not is_writable(folder):
        raise NotWritable(path=str(folder), reason="no files can be made in it")


def _typed(columns: list[list[str]]) -> tuple[Column, ...]:
    return tuple(Column(name, type) for name, type in columns)


def of_table(table: Table) -> Definition:
    """A table as a record."""
    facts = {"columns": _columns(table), "constraints": table.constraints.to_json()}
    facts |= {} if table.role == "table" else {"role": table.role}
    return Definition(table.id, table.name, "table", facts, 0)


def _columns(table: Table) -> list[list[str]]:
    return [[c.name, c.type] for c in table.columns]

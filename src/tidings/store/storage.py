"""One database's store: its relations in memory, its engine's bases, and the journal that records both.

All changes go through one order: files first, then one atomic write of the journal, then memory.  A crash before the
write leaves files that nobody references; after it, everything is there when the database is opened again.

Relations are defined in :mod:`tidings.store.define`, altered and dropped in :mod:`tidings.store.alter`, and replaced in
:mod:`tidings.store.replace_view`; tables are loaded in :mod:`tidings.store.load`.  What a journal holds is brought back
in :mod:`tidings.store.restore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tidings.engine.backend import Backend
from tidings.errors import ReadOnly, TidingsError, UnknownRelation
from tidings.settlement import taking_in
from tidings.store.catalog.functions import DeclaredFunctions
from tidings.store.catalog.journal import Journal, NameChange
from tidings.store.catalog.pending import Pending
from tidings.store.catalog.relation_ids import RelationIds
from tidings.store.catalog.transactions import CatalogTransactions
from tidings.store.records import Batch, Definition, LogEntry, NamedSubscription
from tidings.store.relation.log import compact, span
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.snapshots import Snapshots


@dataclass(slots=True)
class Storage:
    """The relations of one database, and how their changes are recorded."""

    backend: Backend
    journal: Journal
    snapshots: Snapshots
    relations: Relations = field(default_factory=Relations)
    ids: RelationIds = field(init=False, default_factory=RelationIds)
    functions: DeclaredFunctions = field(init=False)
    fold_candidates: dict[int, Table] = field(init=False, default_factory=dict)
    """Tables whose logs have grown since it was last decided which ones to fold."""
    defined_since: dict[str, int] = field(init=False, default_factory=dict)
    """Since when names, in lower case, mean what they mean, where they meant something else before."""
    event_cursors: dict[int, int] = field(init=False, default_factory=dict)
    """From when on rules need the log to detect their events, by rule."""
    rule_cursors: dict[int, int] = field(init=False, default_factory=dict)
    """From when on rules have still to read what changed, by rule."""
    query_cursors: dict[int, int] = field(init=False, default_factory=dict)
    """From when on continuous queries have still to read what changed, by query."""
    revision: int = field(init=False, default=0)
    """That of the journal when this process last read it."""
    definitions: list[Definition] = field(init=False, default_factory=list)
    """What the journal defined when this process last read it."""
    _pending: Pending | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.functions = DeclaredFunctions(self.backend)
        analyses = self.backend.analyses
        if analyses is not None and analyses.key is not None:
            analyses.recall(self.journal.note(analyses.key))

    @property
    def is_reader(self) -> bool:
        """Whether another process may write, and this one may not."""
        return self.journal.is_reader

    def require_writer(self) -> None:
        """Refuse to change what was opened for reading only."""
        if self.is_reader:
            raise ReadOnly()

    @property
    def rule_tables(self) -> CatalogTransactions:
        """Transactions over the tables of rules, firings and the outbox."""
        return self.journal.rule_tables

    @property
    def has_rule_tables(self) -> bool:
        """Whether there may be rules."""
        return self.journal.has_rule_tables

    @property
    def local_folder(self) -> Path | None:
        """The folder of the database on this machine, if it has one."""
        folder = self.journal.folder
        return Path(folder.path) if folder is not None and folder.is_local else None

    def tables(self) -> list[Table]:
        """Everything that has rows: tables, stored views and the groupings stored for them."""
        of_views = [t for view in self.relations.stored() for t in view.tables.values()]
        return [*(t for n in self.relations.names() if isinstance(t := self.relations.find(n), Table)), *of_views]

    def fanout(self, table: Table, column: str) -> float | None:
        """About how many rows a table has per value of a column; None where that is not known."""
        snapshot = self.snapshots.files.get(table.id)
        return None if snapshot is None else snapshot.fanout(column)

    def fanout_of(self, relation: str, column: str) -> float | None:
        """The same for the rows of a relation; None too if all there is of it are changes of a transaction."""
        try:
            return self.fanout(self.relations.rows(relation), column)
        except UnknownRelation:
            return None

    def close(self) -> None:
        """Let another writer come, and know what was found out of queries."""
        analyses = self.backend.analyses
        if analyses is not None and analyses.key is not None and analyses.is_changed and not self.is_reader:
            with suppress(TidingsError):  # it can be found out again
                self.journal.take_note(analyses.key, analyses.note())
        self.journal.close()

    # what is recorded together

    @contextmanager
    def together(self, committed: int | None = None) -> Iterator[Pending]:
        """Record what is done inside at once; if that fails, nothing has been done.

        A reader records nothing: it keeps what it does in memory.
        """
        if self._pending is not None:
            yield self._pending
            return
        self._pending = pending = Pending(Batch(committed))
        try:
            yield pending
            if not self.is_reader and not pending.is_empty:
                self.journal.record(pending.batch)
        except BaseException:
            pending.roll_back()
            raise
        finally:
            self._pending = None
        with taking_in():
            pending.finish()

    def log(self, table: Table, entry: pa.Table) -> None:
        """Log changes of a table as part of what is recorded together."""
        if entry.num_rows:
            with self.together() as pending:
                entry = compact(entry)
                mark, (first, last) = table.mark(), span(entry)
                pending.undo.append(lambda: table.back_to(mark))
                pending.batch.entries.append(LogEntry(table.id, last, entry, first, table.layout))
                table.log(last, entry, first)
                self.fold_candidates[table.id] = table

    def forget(self, before: int) -> None:
        """Forget what snapshots hold of the log up to an instant, except what others have still to read."""
        tables = self.tables()
        behind = [v.until for v in self.relations.stored() if v.error is None and not v.is_outdated]
        cursors = (self.rule_cursors, self.event_cursors, self.query_cursors)
        before = min([before, *(at for by_id in cursors for at in by_id.values()), *behind])
        horizons = {t.id: horizon for t in tables if (horizon := t.history.horizon(before)) is not None}
        if horizons:
            self.journal.forget(horizons)
            for table in tables:
                table.forget(before)

    # names and subscriptions

    @contextmanager
    def redefining(self, names: Iterable[str], at: int) -> Iterator[None]:
        """Let names mean something else from an instant on, by what is altered, dropped or loaded inside.

        Both are recorded together; if nothing is recorded, the names mean what they meant.
        """
        self.require_writer()
        change = NameChange(list(dict.fromkeys(name.lower() for name in names)), at)
        try:
            with self.journal.changing_names(change):
                yield
        finally:
            if change.recorded:
                self.defined_since |= dict.fromkeys(change.names, at)

    def subscriptions(self) -> dict[str, NamedSubscription]:
        """The named subscriptions."""
        return self.journal.contents.subscriptions()

    def subscribe(self, name: str, subscription: NamedSubscription | None) -> None:
        """Make a named subscription, or move it, or with None remove it."""
        self.require_writer()
        self.journal.subscribe(name, subscription)

    def move_subscription(self, name: str, to: int) -> None:
        """Move a named subscription on; it never goes back, and one that was ended stays so."""
        subscription = self.subscriptions().get(name)
        if subscription is not None and (subscription.position is None or subscription.position < to):
            self.subscribe(name, NamedSubscription(subscription.query, to))

"""A reader follows the writer: what another process has recorded since the reader last looked.

Nothing is locked.  The reader sees the catalog as it was at one moment, and files stay for an hour after the catalog
ceases to name them, so a fold or a vacuum of the writer does not disturb it.  Where definitions are the same, only what
is new is taken in: log entries, snapshots, and how far stored views have come.

A reader brings stored views up to date for itself, in memory.  What it has made of one is kept for as long as the
writer is not ahead of it.
"""

from __future__ import annotations

from tidings.store.catalog.definitions import in_order
from tidings.store.catalog.journal import Journal
from tidings.store.records import Cursor, SnapshotRecord
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.storage import Bind, Keep, Storage


def has_news(storage: Storage) -> bool:
    """Whether the writer has recorded anything since; one small question to the catalog."""
    journal = storage.journal
    return journal is not None and journal.read_only and journal.revision() != storage.revision


def follow(storage: Storage, bind: Bind, keep: Keep) -> tuple[int, bool]:
    """Take in what the writer has recorded; the time of its last commit, and whether definitions are others."""
    journal = storage.journal
    assert journal is not None
    with journal.frozen():
        same = in_order(journal.definitions()) == storage.definitions and journal.began() == storage.began
        if same:
            _take_in(storage, journal)
        else:
            storage.restore_again(bind, keep)
        storage.revision = journal.revision()
        return journal.last_commit(), not same


def _take_in(storage: Storage, journal: Journal) -> None:
    bases, cursors = journal.bases(), journal.cursors()
    for definition in storage.definitions:
        found = storage.relations.find(definition.name)
        if definition.kind == "table" and isinstance(found, Table):
            _grow(storage, journal, found, bases.get(found.id))
        elif definition.kind == "stored" and isinstance(found, StoredView):
            _match(storage, found, bases, cursors[found.rows.id])


def _grow(storage: Storage, journal: Journal, table: Table, base: SnapshotRecord | None) -> None:
    """Take in what was logged, a new snapshot, and what was forgotten."""
    table.learn(journal.logged(table.id, table.last))
    if base is not None:
        if _is_new(storage, table, base):
            storage.rest_on(table, base)
        if base.forgotten > table.forgotten:
            table.forget(base.forgotten)


def _is_new(storage: Storage, table: Table, base: SnapshotRecord) -> bool:
    known = storage.snapshots.get(table.id)
    return known is None or known.base.folder != base.folder


def _holds(storage: Storage, view: StoredView, bases: dict[int, SnapshotRecord], cursor: Cursor) -> bool:
    """Whether what this process has of a view is as far as the writer is, or further."""
    rebased = any(_is_new(storage, t, bases[t.id]) for t in view.tables.values() if t.id in bases)
    return not rebased and view.since == cursor.since and view.until >= cursor.until


def _match(storage: Storage, view: StoredView, bases: dict[int, SnapshotRecord], cursor: Cursor) -> None:
    """Take a stored view as the writer has it, unless it is further here."""
    if _holds(storage, view, bases, cursor):
        return
    by_id = {d.id: d for d in storage.definitions}
    for name, old in view.tables.items():
        if old.base is not None:
            storage.backend.unload(old.base)
        if old.id in by_id:
            view.tables[name] = storage.table(by_id[old.id], old.columns, bases)
    view.since, view.until, view.error = cursor.since, cursor.until, cursor.error

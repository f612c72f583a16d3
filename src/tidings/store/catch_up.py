"""A reader catches up with the writer: it takes in what another process has recorded since it last read the journal.

Nothing is locked.  The reader sees the catalog as it was at one moment, and files stay for an hour after the catalog
ceases to reference them, so a fold or a vacuum of the writer does not disturb it.  Where definitions are the same, only
what is new is taken in: log entries, snapshots, and how far stored views have come.

A reader brings stored views up to date for itself, in memory.  Its own rows of a view stay for as long as the writer is
not ahead of it.
"""

from __future__ import annotations

from tidings.store.catalog.definitions import in_dependency_order
from tidings.store.records import Cursor, SnapshotRecord
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.restore import BindView, StoreView, restore_anew, restored_table
from tidings.store.storage import Storage


def is_behind(storage: Storage) -> bool:
    """Whether the writer has recorded anything since; one small question to the catalog, and none for a writer."""
    return storage.is_reader and storage.journal.contents.revision() != storage.revision


def catch_up(storage: Storage, bind: BindView, store: StoreView) -> tuple[int, bool]:
    """Take in what the writer has recorded; the time of its last commit, and whether definitions are others."""
    contents = storage.journal.contents
    with contents.frozen():
        same_definitions = in_dependency_order(contents.definitions()) == storage.definitions
        same = same_definitions and contents.defined_since() == storage.defined_since
        if same:
            _take_in(storage)
        else:
            restore_anew(storage, bind, store)
        storage.revision = contents.revision()
        return contents.last_commit(), not same


def _take_in(storage: Storage) -> None:
    snapshots, cursors = storage.journal.contents.snapshots(), storage.journal.contents.cursors()
    for definition in storage.definitions:
        relation = storage.relations.find(definition.name)
        if definition.kind == "table" and isinstance(relation, Table):
            _take_in_table(storage, relation, snapshots.get(relation.id))
        elif definition.kind == "stored" and isinstance(relation, StoredView):
            _take_in_view(storage, relation, snapshots, cursors[relation.rows.id])


def _take_in_table(storage: Storage, table: Table, snapshot: SnapshotRecord | None) -> None:
    """Take in what was logged, a new snapshot, and what was forgotten."""
    table.learn(storage.journal.contents.log_facts(table.id, table.last))
    if snapshot is not None:
        if _is_new(storage, table, snapshot):
            storage.snapshots.attach(table, snapshot)
        if snapshot.forgotten > table.forgotten:
            table.forget(snapshot.forgotten)


def _is_new(storage: Storage, table: Table, snapshot: SnapshotRecord) -> bool:
    attached = storage.snapshots.files.get(table.id)
    return attached is None or attached.record.folder != snapshot.folder


def _is_ahead(storage: Storage, view: StoredView, snapshots: dict[int, SnapshotRecord], cursor: Cursor) -> bool:
    """Whether what this process has of a view is as far as the writer is, or further."""
    replaced = any(_is_new(storage, t, snapshots[t.id]) for t in view.tables.values() if t.id in snapshots)
    return not replaced and view.since == cursor.since and view.until >= cursor.until


def _take_in_view(storage: Storage, view: StoredView, snapshots: dict[int, SnapshotRecord], cursor: Cursor) -> None:
    """Take a stored view as the writer has it, unless it is further here."""
    if _is_ahead(storage, view, snapshots, cursor):
        return
    by_id = {d.id: d for d in storage.definitions}
    for name, table in view.tables.items():
        if table.base is not None:
            storage.backend.unload(table.base)
        if table.id in by_id:
            view.tables[name] = restored_table(storage, by_id[table.id], table.columns, snapshots)
    view.cursor = cursor

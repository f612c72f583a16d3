"""Changing stored views: what waves make of them, in memory and in the journal.

Everything here is part of what is recorded together (:meth:`tidings.store.storage.Storage.together`).
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial

import pyarrow as pa

from tidings.engine.arrow import conform
from tidings.store.catalog.definitions import grouping_definition
from tidings.store.records import Cursor
from tidings.store.relation.small_states import HELD_ROWS
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage


def advance(storage: Storage, view: StoredView, deltas: dict[str, pa.Table], until: int) -> None:
    """Log what a wave made of a stored view, and how far it has come."""
    with storage.together() as pending:
        pending.undo.append(view.undo())
        for name, delta in ((name, delta) for name, delta in deltas.items() if delta.num_rows):
            storage.log(view.tables[name], view.tables[name].spanning(delta))
        pending.batch.cursors[view.rows.id] = until
        pending.batch.failed.pop(view.rows.id, None)
        view.cursor = Cursor(view.since, until, None)


def fail(storage: Storage, view: StoredView, error: str) -> None:
    """Mark a view as failed, where it stands."""
    if view.error != error:
        with storage.together() as pending:
            pending.undo.append(view.undo())
            pending.batch.failed[view.rows.id] = error
            view.cursor = replace(view.cursor, error=error)


def outdate(storage: Storage, views: list[StoredView]) -> None:
    """Let the rows of some views not count any more."""
    with storage.together() as pending:
        for view in views:
            pending.undo.append(view.undo())
            pending.batch.outdated.append(view.rows.id)
            view.outdate()


def fill(storage: Storage, view: StoredView, rows: dict[str, pa.Table], at: int) -> None:
    """Let a stored view begin with some rows, at an instant; one that is defined already begins anew."""
    with storage.together() as pending:
        pending.undo.append(view.undo())
        is_defined = view.rows.id > 0
        for name, table_rows in rows.items():
            old = view.tables[name]
            view.tables[name] = table = loaded(storage, old, table_rows, at)
            if old.base is not None:
                pending.after.append(partial(storage.backend.unload, old.base))
            if is_defined and not table.id:
                table.id = storage.ids.next()
                pending.batch.groupings.append(grouping_definition(table, view))
        view.cursor = Cursor(at, at, None)
        if is_defined:
            snapshots = storage.snapshots.write(view.all_tables, at)
            pending.batch.refilled[view.rows.id] = [s.record for s in snapshots]
            pending.batch.failed.pop(view.rows.id, None)
            pending.after += [partial(storage.snapshots.attach, s.table, s.record) for s in snapshots]


def loaded(storage: Storage, old: Table, rows: pa.Table, at: int) -> Table:
    """A table in the place of another, with some rows at an instant as its base."""
    with storage.together() as pending:
        base = f"{old.name}@{uuid.uuid4().hex[:12]}"
        pending.undo.append(partial(storage.backend.unload, base))
        size = storage.backend.load(base, old.columns, rows, old.key_column)
        table = Table(old.name, old.columns, id=old.id)
        table.set_base(base, size, at)
        if storage.journal.folder is not None or size <= HELD_ROWS:
            table.base_rows = conform(rows, table.schema)
        return table

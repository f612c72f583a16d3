"""Altering and dropping relations: in the journal at once, then in memory."""

from __future__ import annotations

from tidings.engine.arrow import conform
from tidings.engine.changes import no_changes
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.ir.relation import Scan
from tidings.settlement import taking_in
from tidings.store.catalog.definitions import table_definition
from tidings.store.relation.schema_evolution import with_current_columns
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage


def alter(storage: Storage, table: Table, altered: Table) -> None:
    """Give a table the name, the columns and the constraints of another; its rows stay."""
    storage.require_writer()
    snapshot = storage.snapshots.files.get(table.id)
    if snapshot is not None:
        snapshot.check()  # while it can still be refused
    storage.journal.redefine(table_definition(altered))
    with taking_in():
        _alter_in_memory(storage, table, altered)


def _alter_in_memory(storage: Storage, table: Table, altered: Table) -> None:
    before = Source(table.columns, table.base, no_changes(table.columns))
    storage.relations.remove(table)
    old, layout = table.columns, table.layout
    table.alter(altered.name, altered.columns, altered.constraints)
    storage.relations.add(table)
    snapshot = storage.snapshots.files.get(table.id)
    if snapshot is not None:
        if table.base is not None:
            storage.backend.unload(table.base)
            table.base = None
        storage.snapshots.attach(table, snapshot.record)
    elif table.base is not None and old != table.columns:
        scan = Scan(table.name, "base", old)
        rows = Runner(storage.backend).query(scan, lambda _relation, _version: before)
        current = with_current_columns(rows, table.columns, table.added_values, table.dropped_since(layout))
        current = conform(current, table.schema)
        storage.backend.load(table.base, table.columns, current, table.sort_column)
        table.set_base(table.base, table.base_size, table.base_time)


def drop(storage: Storage, relations: list[Table | View | StoredView]) -> None:
    """Forget relations and their rows, all at once."""
    storage.require_writer()
    tables: list[Table] = []
    views: list[int] = []
    for relation in relations:
        match relation:
            case Table():
                tables.append(relation)
            case StoredView():
                tables.extend(relation.tables.values())
            case View():
                views.append(storage.ids.of(relation))
    storage.journal.undefine([*(t.id for t in tables), *views])
    for relation in relations:
        storage.relations.remove(relation)
    for table in tables:
        if table.base is not None:
            storage.backend.unload(table.base)
        storage.snapshots.files.pop(table.id, None)
        storage.fold_candidates.pop(table.id, None)

"""Altering and dropping relations: in the catalog in one transaction, then in memory."""

from __future__ import annotations

from tidings.engine.arrow import arrow_schema
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.ir.relation import Scan
from tidings.store.relation.schema_evolution import completed
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage, of_table


def alter(storage: Storage, table: Table, altered: Table) -> None:
    """Let a table have the name, the columns and the demands of another, and the rows it has."""
    storage.require_writer()
    if storage.journal is not None:
        storage.journal.redefine(of_table(altered))
    before = Source(table.columns, table.base, arrow_schema(table.columns, versioned=True).empty_table())
    storage.relations.remove(table)
    old = table.columns
    table.alter(altered.name, altered.columns, altered.constraints)
    storage.relations.add(table)
    snapshot = storage.snapshots.get(table.id)
    if snapshot is not None:
        if table.base is not None:
            storage.backend.unload(table.base)
            table.base = None
        storage.rest_on(table, snapshot.base)
    elif table.base is not None and old != table.columns:
        scan = Scan(table.name, "held", old)
        rows = Runner(storage.backend).query(scan, lambda _relation, _version: before)
        complete = completed(rows, table.columns, table.fills)
        storage.backend.load(table.base, table.columns, complete, table.sort_column)


def drop(storage: Storage, relations: list[Table | View | StoredView]) -> None:
    """Forget relations and their rows, all at once."""
    storage.require_writer()
    tables: list[Table] = []
    numbers: list[int] = []
    for relation in relations:
        match relation:
            case Table():
                tables.append(relation)
            case StoredView():
                tables.extend(relation.tables.values())
            case View():
                numbers.append(storage.identity(relation))
    if storage.journal is not None:
        storage.journal.undefine([*(t.id for t in tables), *numbers])
    for relation in relations:
        storage.relations.remove(relation)
    for table in tables:
        if table.base is not None:
            storage.backend.unload(table.base)
        storage.snapshots.pop(table.id, None)
        storage.touched.pop(table.id, None)

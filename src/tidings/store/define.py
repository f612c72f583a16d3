"""Defining new relations: in the journal at once, then in memory."""

from __future__ import annotations

from collections.abc import Sequence

from tidings.settlement import taking_in
from tidings.store.catalog.definitions import (
    grouping_definition,
    stored_view_definition,
    table_definition,
    view_definition,
)
from tidings.store.records import Replacement
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage


def define(storage: Storage, relation: Table | View | StoredView) -> None:
    """Add a new relation; a stored view with the rows it has."""
    storage.relations.check_free(relation.name)
    match relation:
        case Table():
            relation.id = storage.ids.next()
            storage.journal.define([table_definition(relation)], [])
            relation.load_entries_by(storage.journal.entry_loader(relation.id))
        case View():
            id = storage.ids.next()
            storage.journal.define([view_definition(id, relation)], [])
            storage.ids.set(relation, id)
        case StoredView():
            _define_stored(storage, relation)
    storage.relations.add(relation)


def define_together(
    storage: Storage, tables: list[Table], view: View, constrained: Sequence[tuple[Table, Constraints]] = ()
) -> None:
    """Add new tables and a view over them, and give tables that are there other constraints, all or nothing."""
    for table in tables:
        storage.relations.check_free(table.name)
        table.id = storage.ids.next()
    storage.relations.check_free(view.name)
    id = storage.ids.next()
    added = [*map(table_definition, tables), view_definition(id, view)]
    changed = [table_definition(_with_constraints(table, new)) for table, new in constrained]
    storage.journal.replace(Replacement([], added, changed, {}, [], view.name, None))
    storage.ids.set(view, id)
    for table, constraints in constrained:
        table.alter(table.name, table.columns, constraints)
    for table in tables:
        table.load_entries_by(storage.journal.entry_loader(table.id))
        storage.relations.add(table)
    storage.relations.add(view)


def _with_constraints(table: Table, constraints: Constraints) -> Table:
    return Table(table.name, table.columns, constraints=constraints, id=table.id, role=table.role)


def _define_stored(storage: Storage, view: StoredView) -> None:
    tables = view.all_tables
    for table in tables:
        table.id = storage.ids.next()
    groupings = [grouping_definition(t, view) for t in tables if t is not view.rows]
    snapshots = storage.snapshots.write(tables, view.until)
    storage.journal.define(
        [stored_view_definition(view.rows.id, view), *groupings], [s.record for s in snapshots], view.rows.id
    )
    with taking_in():
        for snapshot in snapshots:
            storage.snapshots.attach(snapshot.table, snapshot.record)

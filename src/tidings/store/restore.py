"""Restoring what a journal holds: when a database is opened, and when a reader finds other definitions.

Rows are not read: log entries are known by their facts, and snapshots by their files, until somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidings.errors import DamagedFile
from tidings.ir.fragments import FragmentScheme
from tidings.ir.relation import Column
from tidings.store.catalog.definitions import grouping_names, in_dependency_order, resumed
from tidings.store.catalog.functions import KIND as FUNCTION
from tidings.store.records import Definition, SnapshotRecord
from tidings.store.relation.constraints import Constraints
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView, View
from tidings.store.storage import Storage

BindView = Callable[[str, str, tuple[str, ...]], View]
"""Makes a view from its name, its query and the names of its columns, if it names them."""

StoreView = Callable[[View, bool, Refresh, dict[str, str]], StoredView]
"""Makes a stored view, still without rows: strict or not, when it is refreshed, and the names of its groupings."""


def restore(storage: Storage, bind: BindView, store: StoreView) -> None:
    """Bring back what the journal holds; views are bound anew from their texts."""
    with storage.journal.contents.frozen():
        storage.revision = storage.journal.contents.revision()
        _restore(storage, bind, store)


def restore_anew(storage: Storage, bind: BindView, store: StoreView) -> None:
    """Let go of everything and bring back what the journal holds now."""
    for table in storage.tables():
        if table.base is not None:
            storage.backend.unload(table.base)
    storage.relations.clear()
    storage.snapshots.files.clear()
    storage.ids.views.clear()
    _restore(storage, bind, store)


def _restore(storage: Storage, bind: BindView, store: StoreView) -> None:
    contents = storage.journal.contents
    snapshots, cursors, storage.defined_since = contents.snapshots(), contents.cursors(), contents.defined_since()
    storage.definitions = definitions = in_dependency_order(contents.definitions())
    storage.ids.last = max((d.id for d in definitions), default=0)
    for definition in definitions:
        if definition.kind == FUNCTION:
            storage.functions.declare(definition)
    groupings = {
        d.name: restored_table(storage, d, _columns(d.definition["columns"]), snapshots)
        for d in definitions
        if d.kind == "kept"
    }
    for definition in definitions:
        facts = definition.definition
        match definition.kind:
            case "table":
                table = restored_table(storage, definition, _columns(facts["columns"]), snapshots)
                storage.relations.add(table)
            case "view":
                view = bind(definition.name, facts["query"], tuple(facts["columns"]))
                if "fragments" in facts:
                    view = replace(view, fragments=FragmentScheme.from_json(facts["fragments"]))
                storage.ids.set(view, definition.id)
                storage.relations.add(view)
            case "stored":
                view = bind(definition.name, facts["query"], tuple(facts["columns"]))
                tables = groupings | {view.name: restored_table(storage, definition, view.columns, snapshots)}
                refresh = Refresh(facts.get("refresh", Refresh.ON_ADVANCE))
                stored = store(view, facts["strict"], refresh, grouping_names(definitions, view.name))
                storage.relations.add(resumed(stored, tables, cursors[definition.id]))


def restored_table(
    storage: Storage, definition: Definition, columns: tuple[Column, ...], snapshots: dict[int, SnapshotRecord]
) -> Table:
    """A table, or the rows of a stored view, as the journal has them."""
    constraints = Constraints.from_json(definition.definition.get("constraints", {}))
    role = definition.definition.get("role", "table")
    table = Table(definition.name, columns, constraints=constraints, id=definition.id, role=role)
    snapshot = snapshots.get(definition.id)
    journal = storage.journal
    entries = journal.contents.log_facts(definition.id)
    table.restore(entries, journal.entry_loader(definition.id), snapshot.forgotten if snapshot else 0)
    storage.fold_candidates[table.id] = table
    if snapshot is not None:
        table.sorted_by = snapshot.sorted_by
        try:
            storage.snapshots.attach(table, snapshot)
        except DamagedFile as damage:
            table.base_size, table.base_time, table.damage = snapshot.rows, snapshot.time, damage
    return table


def _columns(columns: list[list[str]]) -> tuple[Column, ...]:
    return tuple(Column(name, type) for name, type in columns)

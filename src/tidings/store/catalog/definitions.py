"""Definitions of relations as the catalog holds them: from tables and views to records, and back.

A stored view is a relation of its own, and so is each grouping that is stored for it.  A grouping is recognised by its
text: if the query would make another one today, the view has to be filled anew.
"""

from __future__ import annotations

from typing import Any

from tidings.analysis.influents import reads
from tidings.ir.text import show
from tidings.store.records import Cursor, Definition
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


def table_definition(table: Table) -> Definition:
    """The record of a table."""
    facts = {"columns": _columns(table), "constraints": table.constraints.to_json()}
    facts |= {} if table.role == "table" else {"role": table.role}
    return Definition(table.id, table.name, "table", facts, 0)


def _columns(table: Table) -> list[list[str]]:
    return [[c.name, c.type] for c in table.columns]


def view_definition(id: int, view: View) -> Definition:
    """The record of a view that is not stored, or of a fragmented table."""
    facts: dict[str, Any] = {"query": view.query, "columns": list(view.named), "reads": sorted(reads(view.plan))}
    facts |= {} if view.fragments is None else {"fragments": view.fragments.to_json()}
    return Definition(id, view.name, "view", facts, 0)


def stored_view_definition(id: int, view: StoredView) -> Definition:
    """The record of a stored view."""
    facts = {"strict": view.strict, "refresh": str(view.refresh)}
    return Definition(id, view.name, "stored", view_definition(id, view.view).definition | facts, view.since)


def grouping_definition(table: Table, view: StoredView) -> Definition:
    """The record of a grouping that is stored for a view."""
    facts = {"columns": _columns(table), "view": view.name, "grouping": show(view.groupings[table.name])}
    return Definition(table.id, table.name, "kept", facts, view.since)


def grouping_names(definitions: list[Definition], view: str) -> dict[str, str]:
    """The names of the groupings that are stored for a view, by their texts."""
    groupings = (d for d in definitions if d.kind == "kept" and d.definition["view"] == view)
    return {d.definition["grouping"]: d.name for d in groupings}


def in_dependency_order(definitions: list[Definition]) -> list[Definition]:
    """Definitions, each after those it reads; a view that was replaced may read one that was made after it."""
    by_name = {d.name: d for d in definitions if d.kind != "kept"}
    ordered: dict[int, Definition] = {}

    def place(definition: Definition) -> None:
        for name in definition.definition.get("reads", []):
            if name in by_name and by_name[name].id not in ordered:
                place(by_name[name])
        ordered.setdefault(definition.id, definition)

    for definition in definitions:
        place(definition)
    return list(ordered.values())


def resumed(view: StoredView, rows: dict[str, Table], cursor: Cursor) -> StoredView:
    """A stored view with the rows it had; if its query would store other groupings today, it has to be filled anew."""
    same = {n: t for n, t in rows.items() if n in view.tables and t.columns == view.tables[n].columns}
    complete = same.keys() == view.tables.keys()
    view.tables = view.tables | same
    view.cursor = cursor
    if not complete:
        view.outdate()
    return view

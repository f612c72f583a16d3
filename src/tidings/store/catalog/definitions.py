"""Views as the catalog holds them: their definitions as records, and back.

A stored view is a relation of its own, and so is each grouping that is kept for it.  A grouping is known again by its
text: if the query would make another one today, the view has to be filled anew.
"""

from __future__ import annotations

from tidings.analysis.influents import reads
from tidings.ir.text import show
from tidings.store.records import Cursor, Definition
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View


def of_view(id: int, view: View) -> Definition:
    """An unstored view as a record."""
    facts = {"query": view.query, "columns": list(view.named), "reads": sorted(reads(view.plan))}
    return Definition(id, view.name, "view", facts, 0)


def of_stored(id: int, view: StoredView) -> Definition:
    """A stored view as a record."""
    facts = {"strict": view.strict, "refresh": str(view.refresh)}
    return Definition(id, view.name, "stored", of_view(id, view.view).definition | facts, view.since)


def of_kept(table: Table, view: StoredView) -> Definition:
    """A grouping that is kept for a view as a record."""
    columns = [[c.name, c.type] for c in table.columns]
    facts = {"columns": columns, "view": view.name, "grouping": show(view.groupings[table.name])}
    return Definition(table.id, table.name, "kept", facts, view.since)


def known_groupings(definitions: list[Definition], view: str) -> dict[str, str]:
    """The names of a view's kept groupings by their texts."""
    kept = (d for d in definitions if d.kind == "kept" and d.definition["view"] == view)
    return {d.definition["grouping"]: d.name for d in kept}


def in_order(definitions: list[Definition]) -> list[Definition]:
    """Definitions, each after those it reads; a view that was replaced may read what is younger."""
    by_name = {d.name: d for d in definitions if d.kind != "kept"}
    found: dict[int, Definition] = {}

    def place(one: Definition) -> None:
        for name in one.definition.get("reads", []):
            if name in by_name and by_name[name].id not in found:
                place(by_name[name])
        found.setdefault(one.id, one)

    for one in definitions:
        place(one)
    return list(found.values())


def again(view: StoredView, rows: dict[str, Table], cursor: Cursor) -> StoredView:
    """A stored view with the rows it had; where it would keep others today, it has to be filled anew."""
    same = {n: t for n, t in rows.items() if n in view.tables and t.columns == view.tables[n].columns}
    complete = same.keys() == view.tables.keys()
    view.tables = view.tables | same
    view.since, view.until, view.error = cursor.since, cursor.until, cursor.error
    if not complete:
        view.outdate()
    return view

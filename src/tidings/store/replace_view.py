"""Putting one view in the place of another: in the journal at once, then in memory."""

from __future__ import annotations

from tidings.settlement import taking_in
from tidings.store.catalog.definitions import grouping_definition, stored_view_definition, view_definition
from tidings.store.records import Replacement
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage

AnyView = View | StoredView


def redefine(storage: Storage, view: StoredView) -> None:
    """Give a stored view another text or other options; its rows stay."""
    storage.require_writer()
    storage.journal.redefine(stored_view_definition(view.rows.id, view))
    storage.relations.replace([view])


def replace(
    storage: Storage, old: AnyView, new: AnyView, readers: list[tuple[AnyView, AnyView]], defined_at: int | None
) -> None:
    """Put a view, with the rows it has, in the place of another.

    ``readers`` are views that read it, as they were and as they are to be; the rows of the stored ones do not count any
    more.  ``defined_at`` is the instant since which the name means something else, if it does.
    """
    storage.require_writer()
    outdated = [v for _, v in readers if isinstance(v, StoredView)]
    replacement = _replacement(storage, old, new, defined_at)
    for before, after in readers:
        replacement.removed.extend(t.id for t in _tables(before) if all(t is not a for a in _tables(after)))
    replacement.outdated.extend(v.rows.id for v in outdated)
    fresh = [t for t in _tables(new) if all(t is not b for b in _tables(old))]
    snapshots = storage.snapshots.write(fresh, new.until) if isinstance(new, StoredView) else []
    if isinstance(new, StoredView):
        replacement.snapshots[new.rows.id] = [s.record for s in snapshots]
    storage.journal.replace(replacement)
    with taking_in():
        if defined_at is not None:
            storage.defined_since[new.name.lower()] = defined_at
        for view in outdated:
            view.outdate()
        storage.relations.replace([new, *(v for _, v in readers)])
        storage.ids.set(new, next((d.id for d in [*replacement.added, *replacement.changed] if d.kind == "view"), 0))
        for snapshot in snapshots:
            storage.snapshots.attach(snapshot.table, snapshot.record)
        for table in _tables(old):
            if all(table is not t for t in _tables(new)) and table.base is not None:
                storage.backend.unload(table.base)


def _replacement(storage: Storage, old: AnyView, new: AnyView, defined_at: int | None) -> Replacement:
    """What changes in the catalog, still without rows; relations that are new get their numbers."""
    replacement = Replacement([], [], [], {}, [], new.name, defined_at)
    staying = {t.id for t in _tables(new)}
    replacement.removed.extend(t.id for t in _tables(old) if t.id not in staying)
    match old, new:
        case View(), View():
            replacement.changed.append(view_definition(storage.ids.of(old), new))
        case StoredView(), View():
            replacement.added.append(view_definition(storage.ids.next(), new))
        case View(), StoredView():
            replacement.removed.append(storage.ids.of(old))
        case StoredView(), StoredView():
            replacement.changed.append(stored_view_definition(new.rows.id, new))
    if isinstance(new, StoredView):
        for table in _tables(new):
            if not table.id:
                table.id = storage.ids.next()
                is_view = table is new.rows
                replacement.added.append(
                    stored_view_definition(table.id, new) if is_view else grouping_definition(table, new)
                )
    return replacement


def _tables(view: View | StoredView) -> list[Table]:
    """The rows of a view first, then its groupings."""
    return [] if isinstance(view, View) else view.all_tables

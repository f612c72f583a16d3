"""Putting one view in the place of another: in the catalog in one transaction, then in memory."""

from __future__ import annotations

from tidings.store.catalog.definitions import of_kept, of_stored, of_view
from tidings.store.records import Replacement, SnapshotRecord
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage

AnyView = View | StoredView


def redefine(storage: Storage, view: StoredView) -> None:
    """Give a stored view another text or other options; its rows stay."""
    storage.require_writer()
    if storage.journal is not None:
        storage.journal.redefine(of_stored(view.rows.id, view))
    storage.relations.replace([view])


def replace(
    storage: Storage, old: AnyView, new: AnyView, readers: list[tuple[AnyView, AnyView]], began: int | None
) -> None:
    """Put a view, with the rows it has, in the place of another.

    ``readers`` are views that read it, as they were and as they are to be; the rows of the stored ones do not count any
    more.  ``began`` is the instant since which the name means something else, if it does.
    """
    storage.require_writer()
    outdated = [v for _, v in readers if isinstance(v, StoredView)]
    change = _change(storage, old, new, began)
    for before, after in readers:
        change.gone.extend(t.id for t in _tables(before) if all(t is not a for a in _tables(after)))
    change.outdated.extend(v.rows.id for v in outdated)
    fresh = [t for t in _tables(new) if all(t is not b for b in _tables(old))]
    bases: list[SnapshotRecord] = []
    if storage.journal is not None:
        if isinstance(new, StoredView):
            bases = [storage.written(t, new.until) for t in fresh]
            change.bases[new.rows.id] = bases
        storage.journal.replace(change)
    if began is not None:
        storage.began[new.name.lower()] = began
    for view in outdated:
        view.outdate()
    storage.relations.replace([new, *(v for _, v in readers)])
    storage.identify(new, next((d.id for d in [*change.made, *change.changed] if d.kind == "view"), 0))
    for table, base in zip(fresh, bases, strict=False):
        storage.rest_on(table, base)
    for table in _tables(old):
        if all(table is not t for t in _tables(new)) and table.base is not None:
            storage.backend.unload(table.base)


def _change(storage: Storage, old: AnyView, new: AnyView, began: int | None) -> Replacement:
    """What changes in the catalog, still without rows; relations that are new get their numbers."""
    change = Replacement([], [], [], {}, [], new.name, began)
    kept = {t.id for t in _tables(new)}
    change.gone.extend(t.id for t in _tables(old) if t.id not in kept)
    match old, new:
        case View(), View():
            change.changed.append(of_view(storage.identity(old), new))
        case StoredView(), View():
            change.made.append(of_view(storage.next_id(), new))
        case View(), StoredView():
            change.gone.append(storage.identity(old))
        case StoredView(), StoredView():
            change.changed.append(of_stored(new.rows.id, new))
    if isinstance(new, StoredView):
        for table in _tables(new):
            if not table.id:
                table.id = storage.next_id()
                change.made.append(of_stored(table.id, new) if table is new.rows else of_kept(table, new))
    return change


def _tables(view: View | StoredView) -> list[Table]:
    """The rows of a view first, then its groupings."""
    if isinstance(view, View):
        return []
    return [view.rows, *(t for t in view.tables.values() if t is not view.rows)]

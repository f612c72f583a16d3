"""Loading a table: the rows it begins with become its base, and are recorded at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from tidings.settlement import taking_in
from tidings.store.relation.table import Table
from tidings.store.relation.view import StoredView
from tidings.store.snapshots import WrittenSnapshot
from tidings.store.storage import Storage


def load(
    storage: Storage,
    table: Table,
    data: Any,
    sorted_by: str,
    readers: list[StoredView],
    check: Callable[[], None] | None = None,
    extra_write: Callable[[Connection], None] | None = None,
    *,
    committed: int,
    is_first: bool = False,
) -> None:
    """Give an empty table the rows it begins with; stored views that read it begin anew.

    It counts as the commit of an instant, the first one of the database if it ``is_first``.  ``check`` may refuse the
    rows; ``extra_write`` records more together with the load.
    """
    storage.require_writer()
    table.sorted_by = sorted_by
    snapshots = storage.snapshots.load(table, data)
    try:
        _check(storage, snapshots, check)
        records, outdated = [s.record for s in snapshots], [v.rows.id for v in readers]
        storage.journal.record_load(records, outdated, committed, extra_write, is_first=is_first)
        with taking_in():
            for snapshot in snapshots:
                storage.snapshots.attach(snapshot.table, snapshot.record)
    except BaseException:
        storage.backend.unload(table.name)
        storage.snapshots.files.pop(table.id, None)
        table.set_base(None, 0)
        raise
    for view in readers:
        view.outdate()


def _check(storage: Storage, snapshots: list[WrittenSnapshot], check: Callable[[], None] | None) -> None:
    """Remove the files of rows that are refused."""
    try:
        if check is not None:
            check()
    except BaseException:
        storage.snapshots.discard(snapshots)
        raise

"""Single writes to the tables of the catalog, out of which the journal makes transactions.

Each function is a few statements on the connection of a transaction that somebody else begins and ends.  A file that is
not referenced any more is noted as such in the same transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from tidings.store.catalog import schema
from tidings.store.fault_points import point
from tidings.store.records import Definition, NamedSubscription, SnapshotRecord

# relations


def define(connection: Connection, definition: Definition) -> None:
    """Add a relation."""
    values = {"kind": definition.kind, "definition": json.dumps(definition.definition), "created": definition.created}
    connection.execute(insert(schema.relation).values(id=definition.id, name=definition.name, **values))


def redefine(connection: Connection, definition: Definition) -> None:
    """Give a relation another definition."""
    connection.execute(
        update(schema.relation)
        .where(schema.relation.c.id == definition.id)
        .values(name=definition.name, definition=json.dumps(definition.definition))
    )


def undefine(connection: Connection, relations: list[int]) -> None:
    """Remove relations and all that is recorded of them."""
    drop_entries(connection, schema.entry.c.relation.in_(relations))
    _drop_files(connection, schema.base_file.c.relation.in_(relations))
    for table in (schema.base, schema.cursor):
        connection.execute(delete(table).where(table.c.relation.in_(relations)))
    connection.execute(delete(schema.relation).where(schema.relation.c.id.in_(relations)))


def change_names(connection: Connection, names: list[str], time: int) -> None:
    """Record that names mean something else from an instant on."""
    connection.execute(delete(schema.began).where(schema.began.c.name.in_(names)))
    for name in names:
        connection.execute(insert(schema.began).values(name=name, time=time))


# the log


def drop_entries(connection: Connection, which: ColumnElement[bool]) -> None:
    """Forget log entries."""
    files = select(schema.entry.c.file).where(which, schema.entry.c.file.is_not(None))
    _unreference(connection, connection.execute(files).scalars().all())
    connection.execute(delete(schema.entry).where(which))


def merge_entries(connection: Connection, relation: int, merged: dict[str, Any]) -> None:
    """Let one entry stand for all those between its first instant and its last."""
    entry, committed = schema.entry, schema.committed
    drop_entries(connection, (entry.c.relation == relation) & entry.c.time.between(merged["first"], merged["time"]))
    connection.execute(insert(entry), [merged])
    past = committed.c.time < select(func.max(committed.c.time)).scalar_subquery()
    connection.execute(delete(committed).where(past))


# snapshots


def set_snapshot(connection: Connection, snapshot: SnapshotRecord) -> None:
    """Give a relation its snapshot, in the place of the one it had."""
    _drop_files(connection, schema.base_file.c.relation == snapshot.relation)
    connection.execute(delete(schema.base).where(schema.base.c.relation == snapshot.relation))
    values: dict[str, Any] = {"relation": snapshot.relation, "time": snapshot.time, "rows": snapshot.rows}
    values["folder"] = snapshot.folder
    values |= {"forgotten": snapshot.forgotten, "sorted_by": snapshot.sorted_by, "layout": snapshot.layout}
    connection.execute(insert(schema.base).values(**values))
    for f in snapshot.files:
        bounds = json.dumps([f.low, f.high])
        facts = {"relation": snapshot.relation, "file": f.path, "rows": f.rows, "bytes": f.bytes, "bounds": bounds}
        facts["checksum"] = f.checksum
        connection.execute(insert(schema.base_file).values(**facts))


def _drop_files(connection: Connection, which: ColumnElement[bool]) -> None:
    files = select(schema.base_file.c.file).where(which)
    _unreference(connection, connection.execute(files).scalars().all())
    connection.execute(delete(schema.base_file).where(which))


def _unreference(connection: Connection, files: Iterable[str | None]) -> None:
    """Note that files are not referenced any more, from now on."""
    rows = [{"file": f, "since": time.time_ns() // 1000} for f in files]
    if rows:
        connection.execute(insert(schema.litter), rows)


# stored views


def add_cursor(connection: Connection, view: int, at: int) -> None:
    """Let a stored view begin at an instant."""
    connection.execute(insert(schema.cursor).values(relation=view, since=at, until=at))


def set_cursor(connection: Connection, view: int, **values: Any) -> None:
    """Move a stored view, or note what holds it up."""
    connection.execute(update(schema.cursor).where(schema.cursor.c.relation == view).values(**values))


def move_cursors(connection: Connection, ends: Mapping[int, int]) -> None:
    """Move stored views to the instants up to which they have their rows now; nothing holds them up."""
    if ends:
        connection.execute(_MOVE_CURSOR, [{"view": view, "end": end} for view, end in ends.items()])


_MOVE_CURSOR = (
    update(schema.cursor)
    .where(schema.cursor.c.relation == bindparam("view"))
    .values(until=bindparam("end"), error=None)
)


def outdate(connection: Connection, views: Iterable[int]) -> None:
    """Let the rows of stored views not count any more."""
    cursor, relations = schema.cursor, list(views)
    if relations:
        connection.execute(update(cursor).where(cursor.c.relation.in_(relations)).values(since=cursor.c.until + 1))


def refill(connection: Connection, view: int, snapshots: list[SnapshotRecord]) -> None:
    """Let a stored view begin anew with other rows; what was logged of it before does not count any more."""
    for snapshot in snapshots:
        drop_entries(connection, schema.entry.c.relation == snapshot.relation)
        set_snapshot(connection, snapshot)
    set_cursor(connection, view, since=snapshots[0].time, until=snapshots[0].time, error=None)
    point("refill.written")


# notes and subscriptions


def note(connection: Connection, key: str, value: str) -> None:
    """Note something under a key, in the place of what was there."""
    connection.execute(delete(schema.meta).where(schema.meta.c.key == key))
    connection.execute(insert(schema.meta).values(key=key, value=value))


def subscribe(connection: Connection, name: str, subscription: NamedSubscription | None) -> None:
    """Make a named subscription, or move it, or with None remove it."""
    connection.execute(delete(schema.subscription).where(schema.subscription.c.name == name))
    if subscription is not None:
        values = {"name": name, "query": subscription.query, "position": subscription.position}
        connection.execute(insert(schema.subscription).values(**values))

"""One writer per catalog, where that is in PostgreSQL.

Two machines may share the catalog and not the lock on the folder (:mod:`tidings.store.catalog.writer_lock`): some
network file systems keep locks to the machine that took them.  So the writer also holds an advisory lock of the
server, on a connection of its own.  The server lets go of it when the connection ends, however that comes about.

The lock is named after the number the server gave the catalog's first table: one catalog, one number, whatever the
schema is called.  A lock that is lost does no harm: the epoch keeps its former holder from writing.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from tidings.errors import DatabaseLocked

_SPACE = 0x71D1
"""The upper half of the names of our locks, to stay out of the way of others."""

_LOCK_TIMEOUT = 2
"""Seconds to wait for the lock: the server takes a moment to notice that its holder has died."""

_TIMED_OUT = "55P03"

_KEEPALIVES = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
"""The server finds out in about a minute that a writer's machine is gone; with its own settings it takes hours."""


def alone(connection: Connection) -> None:
    """Let nobody else prepare a catalog on this server until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": _SPACE << 32})


@dataclass(slots=True)
class CatalogLock:
    """An advisory lock on a catalog, held until it is released or its connection ends."""

    connection: Connection

    def release(self) -> None:
        """Give the lock back: the server does so when its session ends."""
        self.connection.invalidate()
        self.connection.close()


def taken(engine: Engine, preparing: Connection) -> CatalogLock | None:
    """Take the lock on the catalog that a transaction is preparing, or say who has it; None where the server has none.

    The catalog's tables may be new and not yet committed, so only that transaction can name them.
    """
    if engine.dialect.name != "postgresql":
        return None
    table = preparing.execute(text("SELECT CAST(to_regclass('meta') AS oid)")).scalar_one()
    name = _SPACE << 32 | int(table)
    lock = CatalogLock(engine.connect().execution_options(isolation_level="AUTOCOMMIT"))
    try:
        ours = f"process {os.getpid()} on {platform.node()}"
        _set(lock.connection, {**_KEEPALIVES, "application_name": ours, "lock_timeout": f"{_LOCK_TIMEOUT}s"})
        lock.connection.execute(text("SELECT pg_advisory_lock(:name)"), {"name": name})
    except BaseException as error:
        lock.release()
        if isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", None) == _TIMED_OUT:
            raise DatabaseLocked(path=engine.url.render_as_string(), owner=_owner(preparing, name)) from None
        raise
    return lock


def _set(connection: Connection, settings: dict[str, object]) -> None:
    for name, value in settings.items():
        connection.execute(text("SELECT set_config(:name, :value, false)"), {"name": name, "value": str(value)})


def _owner(connection: Connection, name: int) -> str:
    """Who holds a lock, as it calls itself; the server may not say."""
    holder = text("""
        SELECT activity.application_name FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
        WHERE held.locktype = 'advisory' AND held.objsubid = 1 AND held.granted
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND CAST(held.classid AS bigint) = :upper AND CAST(held.objid AS bigint) = :lower
    """)
    owner = connection.execute(holder, {"upper": name >> 32, "lower": name & 0xFFFFFFFF}).scalars().first()
    return str(owner or "another process")

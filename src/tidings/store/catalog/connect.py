"""Connections to the catalog: SQLite in the database's folder, in WAL mode with full sync, or PostgreSQL.

SQLite in WAL mode keeps two more files next to its own while it is open, and even a reader has to make them.  Where it
cannot, in a folder that cannot be written or on a full disk, three things may be so:

- nobody has the catalog open: the two files are not there, and what is in the catalog's own file is all there is.  It
  is read as *immutable*, without locks;
- a writer has it open: the two files are there, and a reader needs no more than to read them;
- a writer died: the log is there.  If the index to it is there too, it is read as in the second case; if not, the
  reader is told.

Which of them holds may change, so it is looked at for every connection, and no connection is reused.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url

from tidings.errors import NotWritable

_INDEX = 32_768
"""The bytes of an index that is one; with less it was begun on a full disk."""


def catalog_engine(url: str | URL, *, read_only: bool) -> Engine:
    """Where connections to a catalog come from."""
    address = make_url(url)
    if address.get_backend_name() != "sqlite":
        return create_engine(address, hide_parameters=True)
    file = Path(str(address.database))
    if read_only and not _can_make_files_next_to(file):
        engine = create_engine(address, poolclass=NullPool, hide_parameters=True)
        event.listen(engine, "do_connect", lambda *_: _connect_without_files(file))
    else:
        engine = create_engine(address, hide_parameters=True)
    event.listen(engine, "connect", _durable)
    event.listen(engine, "begin", _begin)
    return engine


def is_writable(folder: Path) -> bool:
    """Whether this process may make files in a folder."""
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _can_make_files_next_to(file: Path) -> bool:
    """Whether SQLite can make its files next to a catalog; that is tried out, since a disk may be full."""
    if not is_writable(file.parent):
        return False
    connection = sqlite3.connect(file)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
    except sqlite3.DatabaseError:
        return True
    finally:
        connection.close()
    return True


def _connect_without_files(file: Path) -> sqlite3.Connection:
    """A connection for reading that makes no file."""
    log, index = Path(f"{file}-wal"), Path(f"{file}-shm")
    if _size(index) >= _INDEX:
        options = "mode=ro"
    elif _size(log):
        reason = "a writer that died left part of the catalog in its log, and reading that takes a file beside it"
        raise NotWritable(None, "open it once where it can be written, or a copy of it", path=str(log), reason=reason)
    else:
        options = "immutable=1"
    return sqlite3.connect(f"file:{quote(str(file.absolute()))}?{options}", uri=True, check_same_thread=False)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _begin(connection: Connection) -> None:
    """Writers take their turn at once, so that none has to give up at its end; readers wait for nobody."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reading") else "BEGIN IMMEDIATE")


def _durable(connection: Any, _: object) -> None:
    """SQLite as it should be: transactions begun by us, a write-ahead log, synced at every commit."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")

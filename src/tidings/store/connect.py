"""Connections to the catalog: SQLite beside the data, in WAL mode with full sync, or PostgreSQL.

SQLite in WAL mode keeps two more files beside its own while it is open, and even a reader has to make them.  In a
folder that cannot be written three things may be so:

- nobody has the catalog open: the two files are not there, and what is in the catalog's own file is all there is.  It
  is read as *immutable*, without locks;
- a writer has it open: the two files are there, and a reader needs no more than to read them;
- a writer died: the log is there.  If the index to it is there too, it is read as in the second case; if not, the
  reader is told.

Which of them holds may change, so it is looked at for every connection, and no connection is kept.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, make_url

from tidings.errors import NotWritable


def engine(url: str, *, read_only: bool) -> Engine:
    """Where connections to a catalog come from."""
    made = make_url(url)
    if made.get_backend_name() != "sqlite":
        return create_engine(made)
    file = Path(str(made.database))
    if read_only and not is_writable(file.parent):
        found = create_engine(made, poolclass=NullPool)
        event.listen(found, "do_connect", lambda *_: _beside_nothing(file))
    else:
        found = create_engine(made)
    event.listen(found, "connect", _durable)
    event.listen(found, "begin", _begin)
    return found


def is_writable(folder: Path) -> bool:
    """Whether this process may make files in a folder."""
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _beside_nothing(file: Path) -> sqlite3.Connection:
    """A connection for reading that makes no file."""
    log, index = Path(f"{file}-wal"), Path(f"{file}-shm")
    if index.exists():
        options = "mode=ro"
    elif log.exists() and log.stat().st_size:
        reason = "a writer that died left part of the catalog in its log, and reading that takes a file beside it"
        raise NotWritable(None, "open it once where it can be written, or a copy of it", path=str(log), reason=reason)
    else:
        options = "immutable=1"
    return sqlite3.connect(f"file:{quote(str(file.absolute()))}?{options}", uri=True, check_same_thread=False)


def _begin(connection: Connection) -> None:
    """Writers take their turn at once, so that none has to give up at its end; readers wait for nobody."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reading") else "BEGIN IMMEDIATE")


def _durable(connection: Any, _: object) -> None:
    """SQLite as it should be: transactions begun by us, a write-ahead log, synced at every commit."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")

"""Failures to write, as conditions: there is no room, no permission, or the disk fails.

The operating system, Arrow, the engines and the catalog each report such a failure in their own way.  Here all of them
become one of two conditions: ``DiskFull``, which ends when room is made, and ``NotWritable``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EFBIG, EIO, ENOSPC, EPERM, EROFS
from sqlite3 import (
    SQLITE_CANTOPEN,
    SQLITE_FULL,
    SQLITE_IOERR_DIR_FSYNC,
    SQLITE_IOERR_FSYNC,
    SQLITE_IOERR_SHMOPEN,
    SQLITE_IOERR_SHMSIZE,
    SQLITE_IOERR_TRUNCATE,
    SQLITE_IOERR_WRITE,
    SQLITE_READONLY,
)

from tidings.engine.location import Location
from tidings.errors import CatalogFailed, DiskFull, EngineFailed, NotWritable, StorageFailed, TidingsError
from tidings.store.filesystem import discard

_NO_ROOM = (ENOSPC, EDQUOT, EFBIG)
_NO_PERMISSION = (EACCES, EPERM, EROFS)
_FAILED_WRITES = {
    SQLITE_IOERR_DIR_FSYNC,
    SQLITE_IOERR_FSYNC,
    SQLITE_IOERR_SHMOPEN,
    SQLITE_IOERR_SHMSIZE,
    SQLITE_IOERR_TRUNCATE,
    SQLITE_IOERR_WRITE,
}
_DISK_FULL = "53100"
"""PostgreSQL's own name for it."""

_HINT = "look after the disk and try again; nothing has changed"


@contextmanager
def writing(location: Location) -> Iterator[None]:
    """Write a new file, or the files of a new folder: all of it, or a refusal that says why and nothing is left."""
    try:
        yield
    except BaseException as error:
        discard(location)
        if isinstance(error, OSError | EngineFailed):
            raise write_failure(error, location) from None
        raise


@contextmanager
def removing(location: Location) -> Iterator[None]:
    """Look into a folder and remove what is in it, or say why that cannot be done."""
    try:
        yield
    except OSError as error:
        raise write_failure(error, location) from None


def write_failure(error: OSError | EngineFailed, location: Location) -> TidingsError:
    """Why a file could not be written; an engine may have failed for a reason of its own."""
    path = str(location)
    if not location.is_local:
        return error if isinstance(error, EngineFailed) else StorageFailed(path=path, reason=str(error))
    number = _number(error)
    if number in _NO_ROOM:
        return DiskFull(path=path, reason=os.strerror(number))
    if number in _NO_PERMISSION:
        return NotWritable(path=path, reason=os.strerror(number))
    if isinstance(error, EngineFailed) and number is None:
        return error
    return NotWritable(None, _HINT, path=path, reason=str(error))


def _number(error: OSError | EngineFailed) -> int | None:
    """The number of the system's error; engines give only its text, somewhere in the cause."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    text = f"{error} {error.__context__}"
    return next((n for n in (*_NO_ROOM, *_NO_PERMISSION, EIO) if os.strerror(n) in text), None)


def catalog_failure(error: BaseException | None) -> TidingsError:
    """Why SQLite or PostgreSQL refused."""
    code, reason = getattr(error, "sqlite_errorcode", 0), str(error)
    if code == SQLITE_FULL or getattr(error, "sqlstate", None) == _DISK_FULL:
        return DiskFull(path="the catalog", reason=reason)
    if code in _FAILED_WRITES:
        return NotWritable(None, _HINT, path="the catalog", reason=reason)
    if code & 0xFF in (SQLITE_READONLY, SQLITE_CANTOPEN):
        return NotWritable(path="the catalog", reason=reason)
    return CatalogFailed(reason=reason)

"""One writer per database.

The lock keeps a second writer out while the first one lives.  The epoch keeps out a first one that lost its lock
without noticing: every writer raises it when it opens, and every transaction of the catalog checks that it is its own.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path

from tidings.engine.location import Location
from tidings.errors import DatabaseLocked
from tidings.store.write_failures import write_failure


class WriterLock:
    """An exclusive lock on a folder, held until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._file: int | None = None
        lock = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: None if (own := lock()) is None else own._let_go())

    def take(self) -> None:
        """Take the lock, or say who has it."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._lock(self._file)
        except OSError as error:
            self.release()
            raise write_failure(error, Location.local(self._path)) from None
        except DatabaseLocked:
            self.release()
            raise

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(file, 100).decode().strip() or "another process"
            raise DatabaseLocked(path=str(self._path.parent), owner=owner) from None
        os.ftruncate(file, 0)
        os.write(file, f"process {os.getpid()}".encode())

    def release(self) -> None:
        """Give the lock back, also in the name of processes that were forked meanwhile."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._let_go()

    def _let_go(self) -> None:
        """Close the file without giving the lock back: a forked process has it for nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

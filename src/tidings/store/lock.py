"""One writer per database.

The lock keeps a second writer out while the first one lives.  The epoch keeps out a first one that lost its lock
without noticing: every writer raises it when it opens, and every transaction of the catalog checks that it is its own.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from tidings.errors import DatabaseLocked


class WriterLock:
    """An exclusive lock on a folder, held until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Take the lock, or say who has it."""
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "another process"
            file.close()
            raise DatabaseLocked(path=str(self._path.parent), owner=owner) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None

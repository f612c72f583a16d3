"""Vacuum: removing files that nobody names any more.

Three kinds of files are litter: those a crash left before the catalog named them, snapshots that a fold replaced, and
log files whose entries are forgotten or whose table was dropped.  The catalog keeps a note of every file it ceases to
name, with the time.

A reader that was opened while a file was named may still read it, and a fold may be writing one that is not named yet.
So litter stays for a while: an hour since it ceased to be named, or since it was last written if it never was.  Times
here are the machine's, since those of files are.

Only folders that Tidings writes are looked into: ``log`` and ``base``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from tidings.store.fault_points import point
from tidings.store.storage import Storage

FOLDERS = ("log", "base")

GRACE = timedelta(hours=1)
"""How long a file that is not named may still be in use."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What a vacuum removed, and what it left for a later one."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    waiting: int = 0
    """Files that nobody names but that may still be in use."""

    def to_arrow(self) -> pa.Table:
        """The numbers, as one row."""
        facts = {"files": len(self.files), "bytes": self.bytes, "waiting": self.waiting}
        return pa.table({name: pa.array([number], pa.int64()) for name, number in facts.items()})


def vacuum(storage: Storage, grace: timedelta = GRACE, folding: frozenset[int] = frozenset()) -> Vacuumed:
    """Remove litter that is older than a while; what was written for relations that are being folded is none yet."""
    storage.require_writer()
    if storage.journal is None or storage.folder is None:
        return Vacuumed()
    root, named, noted = storage.folder, storage.journal.files(), storage.journal.litter()
    point("vacuum.begun")
    before = time.time_ns() // 1000 - grace // timedelta(microseconds=1)
    removed: list[str] = []
    freed = waiting = 0
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        if name in named:
            continue
        found = path.stat()
        written = name not in noted and name.startswith(tuple(f"base/{relation}/" for relation in folding))
        if written or noted.get(name, found.st_mtime_ns // 1000) > before:
            waiting += 1
            continue
        path.unlink()
        removed.append(name)
        freed += found.st_size
        point("vacuum.removed")
    if not folding:
        _remove_empty_folders(root, before, {(root / name).parent for name in removed})
    gone = [name for name in noted if not (root / name).exists()]
    if gone:
        storage.journal.swept(gone)
    point("vacuum.done")
    return Vacuumed(tuple(sorted(removed)), freed, waiting)


def _files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted(p for p in (root / folder).rglob("*") if not p.is_dir())


def _remove_empty_folders(root: Path, before: int, emptied: set[Path]) -> None:
    """Remove folders that have been empty for a while, or since a moment ago by our own doing."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*"), reverse=True):
            old = path in emptied or path.stat().st_mtime_ns // 1000 <= before
            if path.is_dir() and old and not any(path.iterdir()):
                path.rmdir()

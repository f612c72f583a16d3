"""Vacuum: removing files of rows that the catalog does not reference.

Three kinds of files are unreferenced: those a crash left before the catalog named them, snapshots that a fold replaced,
and log files whose entries are forgotten or whose table was dropped.  The catalog keeps a note of every file it ceases
to reference, with the time.

A reader that was opened while a file was referenced may still read it, and a fold may be writing one that is not
referenced yet.  So such files stay for a while: an hour since they ceased to be referenced, or since they were last
written if they never were.  Times here are the machine's, since those of files are.

Only folders that Tidings writes are looked into: ``log`` and ``base``.  A database in memory has neither.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from tidings.store.fault_points import point
from tidings.store.storage import Storage

GRACE = timedelta(hours=1)
"""How long an unreferenced file may still be in use."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What a vacuum removed, and what it left for a later one."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    waiting: int = 0
    """Unreferenced files that may still be in use."""

    def to_arrow(self) -> pa.Table:
        """The numbers, as one row."""
        facts = {"files": len(self.files), "bytes": self.bytes, "waiting": self.waiting}
        return pa.table({name: pa.array([number], pa.int64()) for name, number in facts.items()})


def vacuum(storage: Storage, grace: timedelta = GRACE, folding: frozenset[int] = frozenset()) -> Vacuumed:
    """Remove unreferenced files after a while; those of relations that are being folded may be referenced soon."""
    storage.require_writer()
    contents = storage.journal.contents
    referenced, unreferenced = contents.files(), contents.unreferenced_files()
    point("vacuum.begun")
    before = time.time_ns() // 1000 - grace // timedelta(microseconds=1)
    in_progress = tuple(f"base/{relation}/" for relation in folding)
    removed: dict[str, Path] = {}
    remaining: set[str] = set()
    freed = waiting = 0
    for folder in contents.folders():
        for path in sorted(p for p in folder.rglob("*") if not p.is_dir()):
            name = path.relative_to(folder.parent).as_posix()
            remaining.add(name)
            if name in referenced:
                continue
            status = path.stat()
            is_new = name not in unreferenced and name.startswith(in_progress)
            if is_new or unreferenced.get(name, status.st_mtime_ns // 1000) > before:
                waiting += 1
                continue
            path.unlink()
            remaining.remove(name)
            removed[name] = path
            freed += status.st_size
            point("vacuum.removed")
    if not folding:
        _remove_empty_folders(contents.folders(), before, {path.parent for path in removed.values()})
    gone = [name for name in unreferenced if name not in remaining]
    if gone:
        storage.journal.files_removed(gone)
    point("vacuum.done")
    return Vacuumed(tuple(sorted(removed)), freed, waiting)


def _remove_empty_folders(folders: Sequence[Path], before: int, emptied: set[Path]) -> None:
    """Remove folders that have been empty for a while, or since a moment ago by our own doing."""
    for folder in folders:
        for path in sorted(folder.rglob("*"), reverse=True):
            old = path in emptied or path.stat().st_mtime_ns // 1000 <= before
            if path.is_dir() and old and not any(path.iterdir()):
                path.rmdir()

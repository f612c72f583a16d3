"""Vacuum: removing files of rows that the catalog does not reference.

Three kinds of files are unreferenced: those a crash left before the catalog named them, snapshots that a fold replaced,
and log files whose entries are forgotten or whose table was dropped.  The catalog keeps a note of every file it ceases
to reference, with the time.  A file that it never referenced has the name of its writer, and the catalog knows its
writers.  Any other file is somebody else's, and stays.

A reader that was opened while a file was referenced may still read it, and a fold may be writing one that is not
referenced yet.  So such files stay for a while: an hour since they ceased to be referenced, or since they were last
written if they never were.  Times here are the machine's, since those of files are.

Only folders that Tidings writes are looked into: ``log`` and ``base``.  A database in memory has neither.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
from pyarrow.fs import FileInfo, FileType

from tidings.engine.location import Location
from tidings.store.fault_points import point
from tidings.store.files import is_own
from tidings.store.filesystem import entries, remove
from tidings.store.storage import Storage
from tidings.store.write_failures import removing

GRACE = timedelta(hours=1)
"""How long an unreferenced file may still be in use."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What a vacuum removed, and what it left for a later one."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    waiting: int = 0
    """Unreferenced files that may still be in use."""
    unknown: int = 0
    """Files that no writer of this database has made, as far as its catalog knows: they stay."""

    def to_arrow(self) -> pa.Table:
        """The numbers, as one row."""
        facts = {"files": len(self.files), "bytes": self.bytes, "waiting": self.waiting}
        facts["unknown"] = self.unknown
        return pa.table({name: pa.array([number], pa.int64()) for name, number in facts.items()})


def vacuum(
    storage: Storage,
    grace: timedelta = GRACE,
    folding: frozenset[int] = frozenset(),
    in_backups: frozenset[str] = frozenset(),
) -> Vacuumed:
    """Remove unreferenced files after a while; those of relations that are being folded may be referenced soon.

    ``in_backups`` are files that are being copied: they stay.
    """
    storage.require_writer()
    contents = storage.journal.contents
    referenced, unreferenced, branches = contents.files(), contents.unreferenced_files(), contents.branches()
    point("vacuum.begun")
    before = time.time_ns() // 1000 - grace // timedelta(microseconds=1)
    in_progress = tuple(f"{kind}/{relation}/" for relation in folding for kind in ("base", "log"))
    removed: set[str] = set()
    remaining: set[str] = set()
    freed = waiting = unknown = 0
    for folder, files in _files(contents.folders()):
        emptied: set[str] = set()
        remaining.update(files)
        for name, info in files.items():
            if name in referenced:
                continue
            if name not in unreferenced and not is_own(name, branches):
                unknown += 1
                continue
            is_new = name not in unreferenced and name.startswith(in_progress)
            if name in in_backups or is_new or unreferenced.get(name, info.mtime_ns // 1000) > before:
                waiting += 1
                continue
            path = name.partition("/")[2]
            with removing(folder / path):
                remove(folder / path)
            remaining.remove(name)
            removed.add(name)
            emptied.add(path.rpartition("/")[0])
            freed += info.size
            point("vacuum.removed")
        if not folding:
            _remove_empty_folders(folder, before, emptied)
    gone = [name for name in unreferenced if name not in remaining]
    if gone:
        storage.journal.files_removed(gone)
    point("vacuum.done")
    return Vacuumed(tuple(sorted(removed)), freed, waiting, unknown)


def _files(folders: Sequence[Location]) -> Iterator[tuple[Location, dict[str, FileInfo]]]:
    """The files in each folder, by their names in the database."""
    for folder in folders:
        with removing(folder):
            present = entries(folder, recursive=True)
        files = {path: info for path, info in present.items() if info.type is not FileType.Directory}
        yield folder, {f"{folder.name}/{path}": info for path, info in files.items()}


def _remove_empty_folders(root: Location, before: int, emptied: set[str]) -> None:
    """Remove folders that have been empty for a while, or since a moment ago by our own doing."""
    with removing(root):
        present = entries(root, recursive=True)
        children = Counter(path.rpartition("/")[0] for path in present)
        for path, info in reversed(present.items()):
            is_empty = info.type is FileType.Directory and not children[path]
            if is_empty and (path in emptied or _is_older(info, before)):
                remove(root / path)
                parent = path.rpartition("/")[0]
                children[parent] -= 1
                emptied.add(parent)


def _is_older(info: FileInfo, instant: int) -> bool:
    """Whether something was last written before an instant; an object store does not say it of folders."""
    return info.mtime_ns is not None and info.mtime_ns // 1000 <= instant

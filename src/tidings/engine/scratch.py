"""Files of rows that this process and its engine hand to each other, and that nobody needs afterwards.

An engine on this machine takes them from a temporary folder.  The workers of a cluster do not see that: they take them
from a folder that all machines see, which is in the database's own.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from tidings.engine.location import Location

_FILE_ROWS = 500_000
"""Rows per file."""


class Scratch:
    """A folder for such files, made when it is first used; ``shared`` is the place all machines see."""

    def __init__(self, shared: Location | None = None) -> None:
        self._shared = shared
        self._folder: Location | None = None
        self._files = 0

    @contextmanager
    def location(self) -> Iterator[Location]:
        """The name of a file or folder that an engine may make; it is removed afterwards."""
        location = self._next()
        try:
            yield location
        finally:
            _remove(location)

    @contextmanager
    def holding(self, rows: pa.Table) -> Iterator[Location]:
        """A folder of Parquet files of some rows, written on all cores; it is removed afterwards."""
        with self.location() as folder:
            folder.filesystem.create_dir(folder.path)

            def write(start: int) -> None:
                part, file = rows.slice(start, _FILE_ROWS), folder / f"{start}.parquet"
                pq.write_table(part, file.path, compression="lz4", filesystem=file.filesystem)

            with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
                list(pool.map(write, range(0, max(rows.num_rows, 1), _FILE_ROWS)))
            yield folder

    def _next(self) -> Location:
        if self._folder is None:
            self._folder = self._made()
        self._files += 1
        return self._folder / f"{self._files}.parquet"

    def _made(self) -> Location:
        if self._shared is None:
            return Location.local(tempfile.mkdtemp(prefix="tidings-"))
        folder = self._shared / uuid.uuid4().hex[:12]
        folder.filesystem.create_dir(folder.path, recursive=True)
        return folder

    def close(self) -> None:
        """Remove all files."""
        if self._folder is not None:
            _remove(self._folder)
            self._folder = None


def _remove(location: Location) -> None:
    """Remove a file or folder, as far as that can be done: the rest goes when the database is next opened."""
    with suppress(OSError):
        if location.filesystem.get_file_info(location.path).type is FileType.Directory:
            location.filesystem.delete_dir(location.path)
        else:
            location.filesystem.delete_file(location.path)

"""Folders of Parquet files that grow by what is added to a relation: engines read all, nothing is written twice."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.engine.changes import as_changes
from tidings.engine.location import Location
from tidings.engine.scratch import Scratch
from tidings.ir.relation import Column


@dataclass(slots=True)
class GrowingFolders:
    """The folders of some relations, by their names; they are removed when it is closed."""

    scratch: Scratch
    least: int
    """Only relations of more rows are held so."""
    _folders: dict[str, tuple[Location, int]] = field(init=False, default_factory=dict)
    """The folder of each relation, and how many rows are in it."""
    _held: ExitStack = field(init=False, default_factory=ExitStack)

    def holding(self, name: str, columns: tuple[Column, ...], rows: pa.Table) -> Location:
        """The folder that holds the rows of a relation; it begins with those that it had before."""
        folder, written = self._folders.get(name) or (self._new(), 0)
        if rows.num_rows > written:
            file = folder / f"{written}.parquet"
            new = as_changes(columns, rows.slice(written))
            pq.write_table(new, file.path, compression="lz4", filesystem=file.filesystem)
        self._folders[name] = folder, rows.num_rows
        return folder

    def _new(self) -> Location:
        folder = self._held.enter_context(self.scratch.location())
        folder.filesystem.create_dir(folder.path)
        return folder

    def forget(self, name: str) -> None:
        """Let the rows of a relation be others, not more."""
        self._folders.pop(name, None)

    def __enter__(self) -> GrowingFolders:
        return self

    def __exit__(self, *_: object) -> None:
        self._folders.clear()
        self._held.close()

"""Which database a folder belongs to, and how much its catalog had recorded: noted in the folder, beside the catalog.

The file ``identity`` has the id of the database and the number of the last transaction of its catalog, which every
transaction raises.  The number is written after the catalog has made the transaction durable, and not synced itself:
it may be behind, and is never ahead.  So a catalog that knows less than the folder has lost something.  It was put back
from an older copy, or its write-ahead log was damaged, which SQLite cuts off without a word.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field

from tidings.engine.location import Location
from tidings.errors import CatalogBehind, CatalogLost, CatalogOfAnother
from tidings.store.filesystem import entries, storage_failures

FILE = "identity"
_DIGITS = 20


@dataclass(slots=True)
class FolderIdentity:
    """The note in one folder."""

    folder: Location
    _file: int | None = field(init=False, default=None)

    @property
    def _location(self) -> Location:
        return self.folder / FILE

    def read(self) -> tuple[str, int] | None:
        """The id of the database and the last number that was noted; None if nothing was."""
        try:
            with (
                storage_failures(self._location),
                self._location.filesystem.open_input_stream(self._location.path, compression=None) as stream,
            ):
                text = stream.read().decode()
            id, number = text.split()
            return id, int(number)
        except (FileNotFoundError, ValueError):
            return None

    def check(self, id: str | None, revision: int) -> None:
        """Refuse a catalog that is not that of this folder, or knows less than was recorded; no id is a new catalog."""
        noted = self.read()
        if id is None:
            if noted is not None or any(entries(self.folder / name) for name in ("log", "base")):
                raise CatalogLost(path=str(self.folder))
        elif noted is not None:
            self.check_noted(noted, id, revision)

    def check_noted(self, noted: tuple[str, int], id: str, revision: int) -> None:
        """Refuse a catalog that is not the one that was noted, or knows less."""
        expected, recorded = noted
        if expected != id:
            raise CatalogOfAnother(path=str(self.folder), found=id, expected=expected)
        if recorded > revision:
            raise CatalogBehind(path=str(self.folder), found=revision, expected=recorded)

    def write(self, id: str, revision: int) -> None:
        """Note both, when a writer begins."""
        text = _text(id, revision)
        if not self.folder.is_local:
            with (
                storage_failures(self._location),
                self._location.filesystem.open_output_stream(self._location.path, compression=None) as stream,
            ):
                stream.write(text)
            return
        self._file = os.open(self._location.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))
        os.fsync(self._file)

    def advance(self, id: str, revision: int) -> None:
        """Note that the catalog has made one more transaction durable; if it cannot be noted, a later one is."""
        if self._file is not None:
            with suppress(OSError):
                os.pwrite(self._file, _text(id, revision), 0)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _text(id: str, revision: int) -> bytes:
    return f"{id} {revision:0{_DIGITS}d}\n".encode()

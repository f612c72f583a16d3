"""Opening a store: in a folder with a catalog, or in this process alone."""

from __future__ import annotations

from pathlib import Path

from tidings.engine.backend import Backend
from tidings.errors import DatabaseMissing, NotWritable
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.catalog.connect import is_writable
from tidings.store.catalog.memory_journal import MemoryJournal
from tidings.store.catalog.writer_lock import WriterLock
from tidings.store.relation.relations import Relations
from tidings.store.snapshots import EngineSnapshots, FileSnapshots
from tidings.store.storage import Storage
from tidings.store.write_failures import write_failure


def open_in_memory(backend: Backend, relations: Relations | None = None) -> Storage:
    """The store of a database that ends with its process; ``relations`` knows the system tables, and no other."""
    return Storage(backend, MemoryJournal(), EngineSnapshots(backend), relations or Relations())


def open_folder(
    backend: Backend, folder: Path, catalog: str | None, *, read_only: bool, relations: Relations | None = None
) -> Storage:
    """The store of a database in a folder, which is made if it is not there; its writer locks it."""
    file = folder / "catalog.sqlite"
    url = catalog or f"sqlite:///{file}"
    if read_only:
        if not folder.is_dir() or (catalog is None and not file.is_file()):
            raise DatabaseMissing(path=str(folder))
        return _over(backend, CatalogJournal(folder, url, read_only=True), relations)
    _make(folder)
    lock = WriterLock(folder)
    lock.take()
    try:
        return _over(backend, CatalogJournal(folder, url, lock=lock), relations)
    except BaseException:
        lock.release()
        raise


def _over(backend: Backend, journal: CatalogJournal, relations: Relations | None) -> Storage:
    return Storage(backend, journal, FileSnapshots(backend, journal, journal.folder), relations or Relations())


def _make(folder: Path) -> None:
    """Make a folder if it is not there, and refuse one that cannot be written before anything in it is touched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_failure(error, folder) from None
    if not is_writable(folder):
        raise NotWritable(path=str(folder), reason="no files can be made in it")

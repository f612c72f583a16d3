"""Opening a store: in a folder with a catalog, or in this process alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tidings.engine.backend import Backend
from tidings.engine.location import Location
from tidings.engine.memory import MemoryBudget
from tidings.errors import CatalogRequired, DatabaseMissing, FolderInUse, InvalidArgument, NotWritable
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.catalog.connect import is_writable
from tidings.store.catalog.identity import FILE as IDENTITY
from tidings.store.catalog.memory_journal import MemoryJournal
from tidings.store.catalog.writer_lock import WriterLock
from tidings.store.filesystem import SCRATCH, discard, entries, is_folder, make_folder, make_private
from tidings.store.relation.relations import Relations
from tidings.store.relation.row_groups import DecodedCache
from tidings.store.snapshots import EngineSnapshots, FileSnapshots
from tidings.store.storage import Storage
from tidings.store.write_failures import write_failure

_CATALOG = "catalog.sqlite"

_OWN = {IDENTITY, SCRATCH, "lock", "log", "base", _CATALOG, f"{_CATALOG}-wal", f"{_CATALOG}-shm", f"{_CATALOG}-journal"}
"""What a database makes in its folder."""

_LEFT_ALONE = {".DS_Store", ".gitignore", ".gitkeep", "lost+found"}
"""What other programs put into folders that their users take for empty."""


def open_in_memory(backend: Backend, relations: Relations | None = None) -> Storage:
    """The store of a database that ends with its process; ``relations`` knows the system tables, and no other."""
    return Storage(backend, MemoryJournal(), EngineSnapshots(backend), relations or Relations())


def open_folder(
    backend: Backend,
    folder: Location,
    catalog: str | None,
    *,
    read_only: bool,
    relations: Relations | None = None,
    memory: MemoryBudget | None = None,
) -> Storage:
    """The store of a database in a folder, which is made if it is not there; its writer locks it."""
    url = _catalog_url(folder, catalog)
    if read_only:
        if folder.is_local and not (is_folder(folder) and (catalog or Path(folder.path, _CATALOG).is_file())):
            raise DatabaseMissing(path=str(folder))
        return _over(backend, CatalogJournal(folder, url, read_only=True), relations, memory)
    _make(folder)
    if not folder.is_local:
        return _begun(backend, CatalogJournal(folder, url), relations, memory)
    lock = WriterLock(Path(folder.path))
    lock.take()
    try:
        journal = CatalogJournal(folder, url, lock=lock)
        _make_private(Path(folder.path))
        return _begun(backend, journal, relations, memory)
    except BaseException:
        lock.release()
        raise


def _catalog_url(folder: Location, catalog: str | None) -> URL:
    """Where the catalog is: the lock of a writer on a remote folder is PostgreSQL's, so nothing else will do there."""
    url = None if catalog is None else _read_url(catalog)
    if not folder.is_local and (url is None or url.get_backend_name() != "postgresql"):
        raise CatalogRequired(path=str(folder))
    return url or URL.create("sqlite", database=f"{folder.path}/{_CATALOG}")


def _read_url(catalog: str) -> URL:
    """The URL of a catalog; one that is none is not shown, for there may be a password in it."""
    try:
        url = make_url(catalog)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() not in ("postgresql", "sqlite"):
        expected, given = "a URL such as postgresql+psycopg://host/name", "another text"
        raise InvalidArgument(name="catalog", expected=expected, value=given)
    return url


def _begun(
    backend: Backend, journal: CatalogJournal, relations: Relations | None, memory: MemoryBudget | None
) -> Storage:
    """The store of the only writer: what an earlier one left in its scratch folders is nobody's."""
    discard(journal.folder / SCRATCH)
    if journal.folder.is_local:
        for path in Path(journal.folder.path).glob(f"{SCRATCH}-*"):
            discard(journal.folder / path.name)
    return _over(backend, journal, relations, memory)


def _over(
    backend: Backend, journal: CatalogJournal, relations: Relations | None, memory: MemoryBudget | None
) -> Storage:
    decoded = DecodedCache((memory or MemoryBudget()).decoded)
    snapshots = FileSnapshots(backend, journal, journal.folder, decoded)
    return Storage(backend, journal, snapshots, relations or Relations())


def _make_private(folder: Path) -> None:
    """Let the files of a catalog be read by those who may read the folder, whatever the usual mode of files is."""
    for name in (_CATALOG, f"{_CATALOG}-wal", f"{_CATALOG}-shm", "lock", "identity"):
        with suppress(FileNotFoundError):
            make_private(folder / name)


def _make(folder: Location) -> None:
    """Make a folder if it is not there; refuse one of somebody else, or that cannot be written, untouched."""
    try:
        make_folder(folder)
    except (FileExistsError, NotADirectoryError):
        hint = "name a folder that is empty or not there yet; nothing has changed"
        raise NotWritable(None, hint, path=str(folder), reason="there is a file, and a database is a folder") from None
    except OSError as error:
        raise write_failure(error, folder) from None
    if folder.is_local and not is_writable(Path(folder.path)):
        raise NotWritable(path=str(folder), reason="no files can be made in it")
    _require_own(folder)


def _require_own(folder: Location) -> None:
    """Refuse a folder that has files and is not that of a database; one that was just begun has nothing but ours."""
    names = set(entries(folder))
    others = sorted(names - _OWN - _LEFT_ALONE)
    if others and not names & {IDENTITY, _CATALOG}:
        raise FolderInUse(path=str(folder), files=", ".join(others[:3]) + (", …" if len(others) > 3 else ""))

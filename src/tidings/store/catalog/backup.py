"""Backups: a copy of a database as it was after one commit, made while the database works, and the way back.

A backup is a folder like that of a database: a catalog in SQLite, wherever the catalog of the database is, and the
files that it names.  It is made in this order:

1. the catalog is copied as it is at one moment, and a vacuum of this process leaves alone all files that it names;
2. these files are copied; none ever changes once it is named, so writers, folds and readers go on;
3. the catalog gets its name.

A folder without a catalog is no backup, so what a crash leaves is recognised.  A restore goes the same way.  It takes
nothing from the note in the folder, ``identity``: whoever opens the restored database first begins a branch of its
history, by which positions of the stretch that was lost are known.

Cost: the bytes of the files that are named; of the catalog, all its rows go through this process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from tidings.engine.location import Location
from tidings.errors import BackupRefused, CatalogFailed, DamagedFile, NotABackup
from tidings.store.catalog import schema
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.catalog.connect import catalog_engine
from tidings.store.fault_points import point
from tidings.store.files import sync, verify_checksum
from tidings.store.filesystem import discard, entries, locate, make_folder, sync_path
from tidings.store.write_failures import writing

CATALOG = "catalog.sqlite"
_UNFINISHED = f"{CATALOG}.part"
_AT_ONCE = 500
"""Rows of the catalog that are copied at once."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was made."""

    path: str
    time: int
    """The last commit that it has."""
    files: int
    bytes: int


@dataclass(slots=True)
class Backup:
    """A backup that is being made: its catalog is there, its files are not."""

    source: Location
    target: Location
    named: dict[str, int | None]
    """The files that the catalog names, each with its checksum if that is known."""
    time: int

    def copy(self) -> BackedUp:
        """Copy the files and let the backup count; nothing of the database is held meanwhile."""
        try:
            size = _copy_files(self.source, self.target, self.named, "backup.copied")
            _finish(self.target)
        except BaseException:
            discard(self.target)
            raise
        point("backup.done")
        return BackedUp(str(self.target), self.time, len(self.named), size)


def begin(journal: CatalogJournal, target: Location) -> Backup:
    """Copy the catalog as it is now into a folder that is empty or not there."""
    _require_empty(target)
    with journal.session.snapshot() as connection:
        named, time = _named_files(connection), _last_commit(connection)
        try:
            with _target_engine(target) as engine, _failures(), engine.begin() as copy:
                _copy_catalog(connection, copy)
        except BaseException:
            discard(target)
            raise
    point("backup.catalog")
    return Backup(journal.folder, target, named, time)


def restore(backup: Location, target: Location, catalog: str | None = None) -> BackedUp:
    """Make a database of a backup, in a folder that is empty or not there; its catalog may be in PostgreSQL."""
    if not (backup.is_local and Path(backup.path, CATALOG).is_file()):
        raise NotABackup(path=str(backup))
    _require_empty(target)
    source = catalog_engine(URL.create("sqlite", database=f"{backup.path}/{CATALOG}"), read_only=True)
    try:
        with _failures(), source.connect().execution_options(reading=True) as connection:
            schema.check(connection, str(backup))
            named, time = _named_files(connection), _last_commit(connection)
            try:
                make_folder(target)
                size = _copy_files(backup, target, named, "restore.copied")
                if catalog is None:
                    with _target_engine(target) as engine, engine.begin() as copy:
                        _copy_catalog(connection, copy)
                else:
                    _into(catalog, connection)
            except BaseException:
                discard(target)
                raise
    finally:
        source.dispose()
    if catalog is None:
        _finish(target)
    point("restore.done")
    return BackedUp(str(target), time, len(named), size)


def folder_of(path: str | Path) -> Location:
    """The folder of this machine that a user names."""
    if isinstance(path, str) and "://" in path and not path.startswith("file://"):
        raise BackupRefused(path=path, reason="it is not on this machine")
    return locate(path)


def _require_empty(target: Location) -> None:
    if Path(target.path).exists() and (not Path(target.path).is_dir() or entries(target)):
        raise BackupRefused(path=str(target), reason="there is something already")


def _named_files(connection: Connection) -> dict[str, int | None]:
    """The files that a catalog names."""
    logs = select(schema.entry.c.file).where(schema.entry.c.file.is_not(None))
    bases = connection.execute(select(schema.base_file.c.file, schema.base_file.c.checksum)).all()
    return dict.fromkeys(connection.execute(logs).scalars()) | {row.file: row.checksum for row in bases}


def _last_commit(connection: Connection) -> int:
    times = connection.execute(select(schema.committed.c.time).order_by(schema.committed.c.time.desc()).limit(1))
    return int(times.scalar() or 0)


@contextmanager
def _target_engine(target: Location) -> Iterator[Engine]:
    """A new catalog in a folder, which has no name yet by which it would count."""
    with writing(target):
        make_folder(target)
    engine = catalog_engine(URL.create("sqlite", database=f"{target.path}/{_UNFINISHED}"), read_only=False)
    try:
        yield engine
    finally:
        engine.dispose()


def _into(catalog: str, source: Connection) -> None:
    """Copy a catalog into an empty one elsewhere, all of it or nothing."""
    engine = catalog_engine(catalog, read_only=False)
    try:
        with engine.begin() as copy:
            if inspect(copy).has_table("meta"):
                raise BackupRefused(path=engine.url.render_as_string(), reason="there is a catalog already")
            _copy_catalog(source, copy)
            if engine.dialect.name == "postgresql":
                sequence = "SELECT setval(pg_get_serial_sequence('outbox', 'number'), max(number)) FROM outbox"
                copy.execute(text(f"{sequence} HAVING max(number) IS NOT NULL"))
    finally:
        engine.dispose()


def _copy_catalog(source: Connection, target: Connection) -> None:
    """All rows of a catalog; what is being sent is to be sent again."""
    schema.metadata.create_all(target)
    present = set(inspect(source).get_table_names())
    for table in schema.metadata.sorted_tables:
        if table.name not in present:
            continue
        rows = source.execution_options(yield_per=_AT_ONCE).execute(select(table)).mappings()
        for part in rows.partitions(_AT_ONCE):
            target.execute(table.insert(), [dict(row) for row in part])


def _copy_files(source: Location, target: Location, named: dict[str, int | None], passed: str) -> int:
    """Copy files, each whole and durable; how many bytes that is."""
    size = 0
    for name, expected in sorted(named.items()):
        file, copy = source / name, target / name
        with writing(copy):
            make_folder(target / name.rpartition("/")[0], inherits=True)
            try:
                with (
                    file.filesystem.open_input_stream(file.path, compression=None) as stream,
                    copy.filesystem.open_output_stream(copy.path, compression=None) as out,
                ):
                    shutil.copyfileobj(stream, out, 1 << 20)
            except FileNotFoundError:
                raise DamagedFile(path=str(file), reason="it is not there") from None
            sync(copy)
        if expected is not None:
            verify_checksum(copy, expected)
        size += copy.filesystem.get_file_info(copy.path).size
        point(passed)
    return size


def _finish(target: Location) -> None:
    """Let the catalog of a folder count."""
    unfinished = target / _UNFINISHED
    with writing(target):
        sync(unfinished)
        os.rename(unfinished.path, f"{target.path}/{CATALOG}")
        sync_path(target.path)
        sync_path(Path(target.path).parent)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise CatalogFailed(reason=str(error)) from error

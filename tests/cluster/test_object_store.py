"""A database on an object store, with its catalog in PostgreSQL: DuckDB reads and writes it through Arrow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

import pytest
from pyarrow.fs import FileSelector, FileType, S3FileSystem

import tidings
from tests import postgresql
from tests.cluster import s3, shop
from tests.cluster.processes import free_port
from tidings import Database, ManualClock
from tidings.engine.location import Location
from tidings.errors import CatalogRequired, DamagedFile, DatabaseLocked, StorageFailed, UnknownFileSystem
from tidings.store.catalog import identity

pytestmark = pytest.mark.slow

Open: TypeAlias = Callable[..., Database]


@pytest.fixture
def catalog(postgres: str, request: pytest.FixtureRequest) -> str:
    """A catalog of the test's own."""
    return postgresql.schema(postgres, f"c{abs(hash(request.node.name))}")


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    return f"s3://{s3.BUCKET}/{request.node.name.replace('[', '_').rstrip(']')}"


@pytest.fixture
def opened(path: str, catalog: str, endpoint: str) -> Open:
    def opened(**settings: Any) -> Database:
        place: dict[str, Any] = {"engine": "duckdb", "clock": ManualClock(1000), "catalog": catalog}
        return tidings.open(path, storage_options=s3.options(endpoint), **(place | settings))

    return opened


@pytest.fixture
def objects(path: str, endpoint: str) -> Callable[[], set[str]]:
    """The names of the files of rows in the database's folder."""
    files, folder = S3FileSystem(**s3.options(endpoint)), path.removeprefix("s3://")

    def objects() -> set[str]:
        found = files.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
        return {f.path.removeprefix(f"{folder}/") for f in found if f.type is FileType.File} - {identity.FILE}

    return objects


def named(db: Database) -> set[str]:
    return db._parts.storage.journal.contents.files()


@pytest.mark.parametrize("execution", ["spark", "auto"])
def test_the_same_changes(opened: Open, expected: shop.Told, execution: str) -> None:
    """Also where small waves are finished by a second engine, which looks rows up in remote files."""
    with opened(execution=execution) as db:
        assert shop.whole(db) == expected
    with opened(execution=execution, read_only=True) as reader:
        assert shop.tell(reader) == expected
    with opened(execution=execution) as again:
        assert shop.tell(again) == expected


def test_files_are_named_after_they_are_whole_and_vacuumed_after_they_are_not(
    opened: Open, objects: Callable[[], set[str]]
) -> None:
    with opened(retention=timedelta(0)) as db:
        db.sql("CREATE TABLE t (x INT)")
        for _ in range(2):
            with db.transaction() as tx:
                tx.insert("t", [(n,) for n in range(30_000)])
            db.fold()
        litter = objects() - named(db)
        assert litter
        assert db.vacuum().waiting == len(litter)
        assert set(db.vacuum(timedelta(0)).files) == litter
        assert objects() == named(db)
        assert len(db.query("t")) == 60_000


def test_a_remote_folder_has_one_writer_which_the_catalog_knows(opened: Open) -> None:
    with opened(), pytest.raises(DatabaseLocked):
        opened()
    opened().close()


def test_a_remote_folder_needs_a_catalog(opened: Open, path: str) -> None:
    for catalog in (None, "sqlite:///catalog.sqlite"):
        with pytest.raises(CatalogRequired):
            opened(catalog=catalog)


def test_what_cannot_be_written_is_not_half_done(
    opened: Open, endpoint: str, monkeypatch: pytest.MonkeyPatch, objects: Callable[[], set[str]]
) -> None:
    """A transaction too large for the catalog writes a file: if storage refuses it, nothing has happened."""
    with opened() as db:
        db.sql("CREATE TABLE t (x INT)")

        def refused(*_: object, **__: object) -> None:
            raise OSError("AWS Error ACCESS_DENIED during PutObject operation")

        monkeypatch.setattr("tidings.store.files.pq.write_table", refused)
        with pytest.raises(StorageFailed, match="ACCESS_DENIED"), db.transaction() as tx:
            tx.insert("t", [(n,) for n in range(30_000)])
        monkeypatch.undo()
        assert db.query("t").rows() == []
        assert objects() == set()
        with db.transaction() as tx:
            tx.insert("t", [(n,) for n in range(30_000)])
        assert len(db.query("t")) == 30_000


def test_storage_that_cannot_be_reached(path: str, catalog: str) -> None:
    options = s3.options(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StorageFailed):
        tidings.open(path, engine="duckdb", catalog=catalog, storage_options=options)


def test_storage_that_cannot_be_read_while_a_database_is_opened(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is half open: once the storage is back, the same process opens the database."""
    with opened() as db:
        db.sql("CREATE TABLE t (x INT); INSERT INTO t VALUES (1)")
        db.fold()

    def refused(folder: Location) -> None:
        raise StorageFailed(path=str(folder), reason="AWS Error SLOW_DOWN")

    monkeypatch.setattr("tidings.store.files.entries", refused)
    with pytest.raises(StorageFailed):
        opened()
    monkeypatch.undo()
    with opened() as db:
        assert db.query("t").rows() == [{"x": 1}]


def test_a_bucket_that_is_not_there(catalog: str, endpoint: str) -> None:
    with pytest.raises(StorageFailed):
        tidings.open("s3a://nosuch/t", engine="duckdb", catalog=catalog, storage_options=s3.options(endpoint))


def test_a_file_that_is_missing_is_reported_by_name(opened: Open, path: str, endpoint: str) -> None:
    with opened() as db:
        db.sql("CREATE TABLE t (x INT); CREATE TABLE u (x INT); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
        db.fold()
        (gone,) = (f.path for f in db._parts.storage.snapshots.files[1].record.files)
    S3FileSystem(**s3.options(endpoint)).delete_file(f"{path.removeprefix('s3://')}/{gone}")
    with opened() as db:
        with pytest.raises(DamagedFile, match="it is not there"):
            db.query("t")
        assert db.query("u").rows() == [{"x": 1}]


def test_an_unknown_file_system() -> None:
    with pytest.raises(UnknownFileSystem):
        tidings.open("nosuch://somewhere/shop", engine="duckdb", catalog="postgresql+psycopg://nobody@/nowhere")

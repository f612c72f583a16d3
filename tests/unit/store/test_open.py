"""Opening a store: who may, and what there has to be."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import tidings
from tidings.engine.duckdb import DuckDB
from tidings.engine.location import Location
from tidings.errors import DatabaseLocked, DatabaseMissing, FolderInUse, NotWritable
from tidings.store.open import open_folder, open_in_memory


def test_a_writer_makes_the_folder_and_keeps_others_out(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "shop"
    first = open_folder(DuckDB(), Location.local(path), None, read_only=False)
    assert (path / "catalog.sqlite").is_file()
    with pytest.raises(DatabaseLocked):
        open_folder(DuckDB(), Location.local(path), None, read_only=False)
    first.close()
    open_folder(DuckDB(), Location.local(path), None, read_only=False).close()


@pytest.mark.parametrize("others", [["notes.txt"], ["base", "report.csv"], ["a", "b", "c", "d"], [".bashrc"]])
def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(tmp_path: Path, others: list[str]) -> None:
    for name in others:
        (tmp_path / name).write_text("mine")
    with pytest.raises(FolderInUse) as refused:
        open_folder(DuckDB(), Location.local(tmp_path), None, read_only=False)
    assert refused.value.parameters["path"] == str(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(others, "mine")


def test_a_folder_that_counts_as_empty_or_is_that_of_a_database_is_opened(tmp_path: Path) -> None:
    for name in (".gitkeep", ".DS_Store", "lock"):  # the last one is of a writer that came no further
        (tmp_path / name).write_text("")
    open_folder(DuckDB(), Location.local(tmp_path), None, read_only=False).close()
    (tmp_path / "README.md").write_text("what this database is for")
    open_folder(DuckDB(), Location.local(tmp_path), None, read_only=False).close()


def test_a_folder_whose_catalog_is_elsewhere_is_opened_again(tmp_path: Path) -> None:
    catalog = f"sqlite:///{tmp_path / 'apart.sqlite'}"
    for _ in range(2):
        open_folder(DuckDB(), Location.local(tmp_path / "shop"), catalog, read_only=False).close()
        (tmp_path / "shop" / "README.md").write_text("")


def test_a_reader_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(DatabaseMissing):
        open_folder(DuckDB(), Location.local(tmp_path / "shop"), None, read_only=True)
    with pytest.raises(DatabaseMissing):
        open_folder(DuckDB(), Location.local(tmp_path), None, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_comes_next_to_the_writer(tmp_path: Path) -> None:
    writer = open_folder(DuckDB(), Location.local(tmp_path), None, read_only=False)
    reader = open_folder(DuckDB(), Location.local(tmp_path), None, read_only=True)
    assert (writer.is_reader, reader.is_reader) == (False, True)
    reader.close()
    writer.close()


def test_a_writer_that_cannot_open_the_catalog_lets_go_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(NotWritable):
        open_folder(DuckDB(), Location.local(tmp_path), "sqlite:////nowhere/catalog.sqlite", read_only=False)
    open_folder(DuckDB(), Location.local(tmp_path), None, read_only=False).close()


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("")
    with pytest.raises(NotWritable):
        open_folder(DuckDB(), Location.local(tmp_path / "shop"), None, read_only=False)


def test_in_memory_there_is_one_writer_and_no_file(tmp_path: Path) -> None:
    storage = open_in_memory(DuckDB())
    assert (storage.is_reader, storage.relations.names(), storage.snapshots.write([], 0)) == (False, [], [])


def _modes(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mode & 0o777 for p in folder.rglob("*")}


@pytest.mark.parametrize("shared", [0o700, 0o750])
def test_the_files_are_for_those_who_may_enter_the_folder(tmp_path: Path, shared: int) -> None:
    path, usual = tmp_path / "db", os.umask(0o022)
    try:
        with tidings.open(path, engine="duckdb"):
            assert path.stat().st_mode & 0o777 == 0o700
        path.chmod(shared)
        with tidings.open(path, engine="duckdb") as db:
            db.sql("CREATE TABLE t (a INT PRIMARY KEY, b STRING)")
            db.load("t", pa.table({"a": pa.array(range(10), pa.int32()), "b": ["x"] * 10}))
            with db.transaction() as tx:
                tx.insert("t", [(n, "y" * 100) for n in range(100, 20_100)])
            db.fold()
            modes = _modes(path)
    finally:
        os.umask(usual)
    folders = {name: mode for name, mode in modes.items() if (path / name).is_dir()}
    assert "base" in folders
    assert any(name.endswith(".parquet") for name in modes)
    assert {mode for name, mode in modes.items() if name in folders} == {shared}
    assert {mode for name, mode in modes.items() if name not in folders} == {shared & 0o666}


def test_new_folders_are_durable_before_what_is_in_them_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr("os.fsync", noted)
    path = tmp_path.resolve() / "above" / "db"
    with tidings.open(path, engine="duckdb") as db:
        assert {str(tmp_path.resolve()), str(path.parent)} <= set(synced)
        db.sql("CREATE TABLE t (a INT PRIMARY KEY)")
        db.load("t", pa.table({"a": pa.array(range(10), pa.int32())}))
    assert {str(path), str(path / "base")} <= set(synced)
    relations = [str(folder) for folder in (path / "base").iterdir()]
    assert set(relations) <= set(synced)

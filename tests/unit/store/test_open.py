"""Opening a store: who may, and what there has to be."""

from __future__ import annotations

from pathlib import Path

import pytest

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

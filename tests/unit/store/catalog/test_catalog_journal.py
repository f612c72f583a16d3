"""What a journal on disk records is there for the next process, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import Connection

from tidings.engine.location import Location
from tidings.errors import ReadOnly
from tidings.store.catalog.catalog_journal import CatalogJournal
from tidings.store.catalog.journal import NameChange
from tidings.store.catalog.log_entries import INLINE
from tidings.store.records import Batch, Cursor, Definition, LogEntry, NamedSubscription, SnapshotFile, SnapshotRecord

TABLE = Definition(1, "t", "table", {"columns": [["x", "bigint"]]}, 0)
VIEW = Definition(2, "v", "stored", {"reads": ["t"]}, 3)
SNAPSHOT = SnapshotRecord(2, 3, 1, "base/2/a", (SnapshotFile("base/2/a/0.parquet", 1, 10, 1, 1),), 0, "x", 1)


def opened(folder: Path, *, read_only: bool = False) -> CatalogJournal:
    return CatalogJournal(Location.local(folder), f"sqlite:///{folder}/catalog.sqlite", read_only)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[CatalogJournal]:
    made = opened(tmp_path)
    made.define([TABLE], [])
    yield made
    made.close()


def entry(time: int, rows: int = 1) -> LogEntry:
    table = pa.table({"x": list(range(rows)), "__t": [time] * rows, "__w": [1] * rows})
    return LogEntry(1, time, table)


def test_another_process_reads_what_was_recorded(journal: CatalogJournal, tmp_path: Path) -> None:
    journal.define([VIEW], [SNAPSHOT], 2)
    journal.record(Batch(5, [entry(5)], cursors={2: 5}))
    journal.subscribe("s", NamedSubscription("t", 5))
    reader = opened(tmp_path, read_only=True).contents
    assert reader.definitions() == [TABLE, VIEW]
    assert reader.snapshots() == {2: SNAPSHOT}
    assert reader.cursors() == {2: Cursor(3, 5, None)}
    assert reader.last_commit() == 5
    assert reader.subscriptions() == {"s": NamedSubscription("t", 5)}
    assert [(f.first, f.last, f.rows, f.growth) for f in reader.log_facts(1)] == [(5, 5, 1, 1)]
    assert reader.revision() == journal.contents.revision()


def test_small_entries_are_in_the_catalog_and_large_ones_in_files(journal: CatalogJournal, tmp_path: Path) -> None:
    journal.record(Batch(5, [entry(5)]))
    assert journal.contents.files() == set()
    journal.record(Batch(6, [replace(entry(6, INLINE), layout=2)]))
    (name,) = journal.contents.files()
    assert (tmp_path / name).is_file()
    load = journal.entry_loader(1)
    assert [(written.rows.num_rows, written.layout) for written in load(0, 9)] == [(1, 0), (INLINE, 2)]
    assert [written.rows.num_rows for written in load(6, 6)] == [INLINE]
    journal.forget({1: 6})
    assert journal.contents.log_facts(1) == []
    assert set(journal.contents.unreferenced_files()) == {name}
    journal.files_removed([name])
    assert journal.contents.unreferenced_files() == {}


def test_a_batch_is_recorded_whole_or_not_at_all(journal: CatalogJournal) -> None:
    def fail(_: Connection) -> None:
        raise RuntimeError

    revision = journal.contents.revision()
    with pytest.raises(RuntimeError):
        journal.record(Batch(5, [entry(5)], extra_writes=[fail]))
    assert (journal.contents.last_commit(), journal.contents.log_facts(1)) == (0, [])
    assert journal.contents.revision() == revision


def test_names_change_with_the_definition(journal: CatalogJournal) -> None:
    change = NameChange(["t"], 7)
    with journal.changing_names(change):
        assert not change.recorded
        journal.redefine(Definition(1, "T", "table", {"columns": []}, 0))
    assert change.recorded
    assert journal.contents.defined_since() == {"t": 7}
    assert [d.name for d in journal.contents.definitions()] == ["T"]


def test_a_snapshot_takes_the_place_of_another(journal: CatalogJournal) -> None:
    first = SnapshotRecord(1, 3, 1, "base/1/a", (SnapshotFile("base/1/a/0.parquet", 1, 10, None, None),))
    second = SnapshotRecord(1, 4, 1, "base/1/b", (SnapshotFile("base/1/b/0.parquet", 1, 10, None, None),))
    journal.record_load([first], [], 1)
    journal.record_fold(second)
    assert journal.contents.snapshots() == {1: second}
    assert set(journal.contents.unreferenced_files()) == {"base/1/a/0.parquet"}


def test_a_reader_records_nothing(journal: CatalogJournal, tmp_path: Path) -> None:
    reader = opened(tmp_path, read_only=True)
    assert reader.is_reader
    with pytest.raises(ReadOnly):
        reader.undefine([1])
    assert journal.contents.definitions() == [TABLE]


def test_notes_are_found_again(journal: CatalogJournal, tmp_path: Path) -> None:
    assert journal.note("trial of duckdb") is None
    journal.take_note("trial of duckdb", "0.5")
    assert journal.note("trial of duckdb") == "0.5"
    reader = opened(tmp_path, read_only=True)
    assert reader.note("trial of duckdb") == "0.5"
    with pytest.raises(ReadOnly):
        reader.take_note("trial of spark", "0.7")
    reader.close()

"""How much memory a database may hold, and that it holds no more."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest

import tidings
from tidings.engine.duckdb import DuckDB
from tidings.engine.location import Location
from tidings.engine.memory import MACHINE, MemoryBudget
from tidings.errors import InvalidMemory
from tidings.store.snapshots import FileSnapshots

LARGE = (
    "SELECT count(*) AS n, max(s) AS m FROM (SELECT DISTINCT hash(i) AS h, repeat(CAST(i AS VARCHAR), 8) AS s"
    " FROM range(1000000) t(i))"
)
"""A query that needs more than some memory."""


@pytest.mark.parametrize(
    ("given", "bytes"),
    [
        (1 << 30, 1 << 30),
        ("1GB", 10**9),
        ("1gib", 1 << 30),
        ("100 MB", 10**8),
        ("0.5 GiB", 1 << 29),
        (None, MACHINE // 4),
    ],
)
def test_amounts(given: int | str | None, bytes: int) -> None:
    assert MemoryBudget.of(given).bytes == bytes


@pytest.mark.parametrize("given", ["much", "2 GG", "-1GB", "1KB", 0, -5])
def test_what_is_no_amount_is_refused(given: int | str) -> None:
    with pytest.raises(InvalidMemory):
        tidings.open(engine="duckdb", memory=given)


def test_the_parts_fit_the_whole() -> None:
    budget = MemoryBudget(1000)
    assert budget.engine() + budget.decoded < budget.bytes
    assert 2 * budget.engine(2) <= budget.engine()


def test_what_does_not_fit_is_written_to_a_folder_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = DuckDB(memory=64 << 20)
    rows = engine.fetch(LARGE)
    assert rows.column("n").to_pylist() == [1_000_000]
    engine.close()
    assert [path for path in tmp_path.rglob("*") if path.parent != tmp_path] == []


def test_what_a_writer_spills_is_beside_its_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engine = DuckDB(memory=32 << 20, scratch=Location.local(tmp_path / "scratch"))
    seen: set[str] = set()
    done = Event()

    def look() -> None:
        while not done.wait(0.002):
            seen.update(path.name for path in tmp_path.iterdir())

    watcher = Thread(target=look)
    watcher.start()
    try:
        assert engine.fetch(LARGE).column("n").to_pylist() == [1_000_000]
    finally:
        done.set()
        watcher.join()
    engine.close()
    assert seen
    assert all(name.startswith("scratch-") for name in seen)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("memory", [None, "64MiB"])
def test_nothing_is_spilled_into_the_working_folder(tmp_path: Path, memory: str | None) -> None:
    places = []
    for path, read_only in ((tmp_path / "db", False), (tmp_path / "db", True), (None, False)):
        with tidings.open(path, engine="duckdb", memory=memory, read_only=read_only) as db:
            assert isinstance(db._parts.backend, DuckDB)
            rows = db._parts.backend.fetch("SELECT current_setting('temp_directory') AS place").column("place")
            places.append(str(rows[0]))
    assert places[0].startswith(f"{tmp_path}/db/scratch-")
    assert all(Path(place).is_absolute() and not place.startswith(str(tmp_path)) for place in places[1:])


def test_what_a_killed_writer_has_spilled_goes_with_the_next(tmp_path: Path) -> None:
    tidings.open(tmp_path / "db", engine="duckdb").close()
    left = tmp_path / "db" / "scratch-0123456789ab" / "duckdb_temp_storage.tmp"
    left.parent.mkdir()
    left.write_text("rows")
    tidings.open(tmp_path / "db", engine="duckdb", read_only=True).close()
    assert left.exists()
    tidings.open(tmp_path / "db", engine="duckdb").close()
    assert not left.parent.exists()


def test_a_database_holds_no_more_than_it_may(tmp_path: Path) -> None:
    clock, size = tidings.ManualClock(1), 1_000_000
    with tidings.open(tmp_path / "db", engine="duckdb", execution="auto", memory="64MiB", clock=clock) as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, g BIGINT, s STRING)")
        numbers = pa.array(range(size), pa.int64())
        texts = pa.array([f"some text that is not short {n}" for n in range(size)])
        db.load("t", pa.table({"k": numbers, "g": numbers, "s": texts}))
        db.sql("CREATE VIEW v AS SELECT a.k, b.s FROM t a JOIN t b ON a.k = b.g WHERE a.s = 'x'")
        snapshots, in_process = db._parts.storage.snapshots, db._parts.scheduler.engines.in_process
        assert isinstance(snapshots, FileSnapshots)
        assert in_process is not None
        for n in range(0, size, size // 20):
            since = db.time
            db.sql(f"UPDATE t SET s = 'x' WHERE k = {n}")
            assert len(db.changes("v", since=since).rows()) == 1
        decoded = snapshots.decoded
        assert 0 < decoded.bytes <= decoded.limit == MemoryBudget.of("64MiB").decoded
        taken = in_process.second.fetch("SELECT sum(memory_usage_bytes) AS n FROM duckdb_memory()")
        assert taken.column("n").to_pylist()[0] <= MemoryBudget.of("64MiB").engine(2)

"""Waves on the engine over rows looked up first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.unit.inside import scheduler_of
from tidings import Database
from tidings.delta.plan import Program
from tidings.engine import run
from tidings.engine.changes import no_changes
from tidings.engine.duckdb import DuckDB
from tidings.ir.relation import Column
from tidings.waves.engines import ProgramRun
from tidings.waves.on_engine import runner, small_relations


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Two tables and a view over both; the engine looks rows up first."""
    monkeypatch.setattr(DuckDB, "looks_up_first", True)
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    with tidings.open(tmp_path / "db", engine="duckdb", execution="spark", strategy="differential") as database:
        database.sql("""
            CREATE TABLE t (k INT, n INT);
            CREATE TABLE u (k INT, m INT);
            INSERT INTO t VALUES (1, 10), (2, 20);
            INSERT INTO u VALUES (1, 5), (1, 6), (3, 7);
        """)
        database.fold()
        yield database


QUERY = "SELECT t.k, COUNT(*) AS c, SUM(u.m) AS s FROM t JOIN u ON u.k = t.k GROUP BY t.k"


def changes(db: Database) -> list[tuple[object, ...]]:
    """What an insertion changes in the answer."""
    before = db.time
    db.sql("INSERT INTO t VALUES (1, 11), (3, 30)")
    return sorted((row["k"], row["c"], row["s"], weight) for row, _, weight in db.changes(QUERY, before).rows())


CHANGED = [(1, 2, 11, -1), (1, 4, 22, 1), (3, 1, 7, 1)]


def test_rows_are_looked_up_first(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LIST_LIMIT", 0)
    assert changes(db) == CHANGED
    wave = db.waves()[-1]
    assert list(wave.seconds) == ["plan", "look up", "finish"]
    assert (wave.execution, wave.rows_read > 0) == ("duckdb", True)


def test_what_is_small_by_itself_is_not_looked_up(db: Database) -> None:
    before = db.time
    db.sql("INSERT INTO t VALUES (3, 30)")
    delta = db.changes("SELECT t.k, u.m FROM t JOIN u ON u.k = t.k", before)
    assert [(row["k"], row["m"], weight) for row, _, weight in delta.rows()] == [(3, 7, 1)]
    assert db.waves()[-1].rows_read == 0


def test_large_batches_are_not_looked_up(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHANGES_LIMIT", 1)
    assert changes(db) == CHANGED
    assert list(db.waves()[-1].seconds) == ["plan", "run"]


def test_an_engine_that_reads_states_as_they_are(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDB, "looks_up_first", False)
    assert scheduler_of(db).engines.on_engine.obstacle(1) == "duckdb reads states as they are"
    assert changes(db) == CHANGED


def test_a_program_without_steps_changes_nothing(db: Database) -> None:
    columns = (Column("k", "int"),)
    run = ProgramRun(Program("v", frozenset(), columns, ()), scheduler_of(db).executor.sources, db.time, db.time + 1)
    assert scheduler_of(db).engines.run(run).deltas == {"v": no_changes(columns)}

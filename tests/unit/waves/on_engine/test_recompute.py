"""Recomputes on the engine: what is small is read and compared in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database
from tidings.engine.duckdb import DuckDB
from tidings.waves.on_engine import small_relations


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A view with a kept grouping, always recomputed, on an engine that looks rows up first."""
    monkeypatch.setattr(DuckDB, "looks_up_first", True)
    with tidings.open(tmp_path / "db", engine="duckdb", execution="spark", strategy="recompute") as database:
        database.sql("""
            CREATE TABLE t (k INT, n INT);
            INSERT INTO t VALUES (1, 10), (1, 11), (2, 20);
            CREATE MATERIALIZED VIEW v WITH (refresh = 'manual') AS
              SELECT k, SUM(n) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 1;
        """)
        database.fold()
        yield database


@pytest.fixture
def steps(db: Database, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each step that is recomputed from here on: is it small work?"""
    fetch, small = DuckDB.fetch, list[bool]()

    def recorded(engine: DuckDB, text: str, *columns: Any, **how: Any) -> pa.Table:
        if "__current_" in text or "__named_current_" in text:
            small.append(how.get("small", False))
        return fetch(engine, text, *columns, **how)

    monkeypatch.setattr(DuckDB, "fetch", recorded)
    return small


def refreshed(db: Database, steps: list[bool]) -> list[bool]:
    """The steps of a refresh that changes the view."""
    db.sql("INSERT INTO t VALUES (2, 5)")
    steps.clear()
    db.refresh("v")
    made = list(steps)
    assert [(row["k"], row["s"]) for row in db.query("v").rows()] == [(2, 25)]
    return made


def test_the_steps_over_small_relations_are_small(db: Database, steps: list[bool]) -> None:
    assert refreshed(db, steps) == [True, True]


def test_a_large_table_is_read_by_the_engine(db: Database, steps: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 2)
    assert refreshed(db, steps) == [False, True]


def test_large_results_are_compared_by_the_engine(
    db: Database, steps: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_relations, "SMALL_RELATION", 0)
    assert refreshed(db, steps) == [False, False]


def test_past_changes_of_a_stored_view(db: Database) -> None:
    """Its rows are those of now: what was computed at one instant is not added to them at the next."""
    before = db.time
    for n in range(3):
        db.sql(f"INSERT INTO t VALUES (2, {20 + n})")
        db.refresh("v")
    sums = [(row["s"], weight) for row, _, weight in db.changes("v", before, per_commit=True).rows()]
    assert sorted(sums) == [(21, -1), (40, -1), (40, 1), (61, -1), (61, 1), (83, 1)]

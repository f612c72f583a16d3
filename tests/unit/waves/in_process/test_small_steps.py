"""Small steps: which are small, and how their rows are given to their queries."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import tidings
from tidings.engine.duckdb import PreparedQueries
from tidings.engine.run import Runner
from tidings.waves.in_process import runner, small_steps


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as db:
        db.sql("""
            CREATE TABLE a (k INT, v BIGINT, tags ARRAY<STRING>);
            CREATE TABLE b (k INT, w BIGINT);
            INSERT INTO b VALUES (1, 10), (2, 20);
            CREATE VIEW both AS SELECT a.k, a.v, b.w FROM a JOIN b ON b.k = a.k;
            CREATE VIEW tagged AS SELECT a.tags, b.w FROM a JOIN b ON b.k = a.k;
        """)
        yield db


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How steps were finished by queries: over lists, over tables, or planned anew."""
    monkeypatch.setattr(small_steps, "INTERPRETED_LIMIT", -1)
    taken: list[str] = []
    fetch, run = PreparedQueries.fetch, Runner.run

    def prepared(self: PreparedQueries, text: str, arguments: dict[str, str]) -> pa.Table:
        taken.append("lists" if "$list_0" in text else "tables")
        return fetch(self, text, arguments)

    def planned(self: Runner, *rest: object) -> pa.Table:
        taken.append("planned")
        return run(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(PreparedQueries, "fetch", prepared)
    monkeypatch.setattr(Runner, "run", planned)
    return taken


def insert(db: tidings.Database, rows: int) -> int:
    since = db.time
    with db.transaction() as tx:
        tx.insert("a", [(n % 3, n, ["x", None]) for n in range(rows)])
    return since


@pytest.mark.parametrize(
    ("rows", "way"),
    [
        (1, "lists"),
        (small_steps.LISTED_LIMIT, "tables"),
        (small_steps.UNORDERED_LIMIT, "tables"),
        (2 * small_steps.UNORDERED_LIMIT, "planned"),
    ],
)
def test_the_number_of_rows_decides(
    db: tidings.Database, ways: list[str], rows: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_steps, "SMALL_LIMIT", 2 * small_steps.UNORDERED_LIMIT)
    for _ in range(2):
        since = insert(db, rows)
        changes = db.changes("both", since=since)
        assert sorted(r["v"] for r, _, _ in changes.rows()) == [n for n in range(rows) if n % 3]
    assert ways == [way, way]


def test_nested_values_are_in_tables(db: tidings.Database, ways: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "agreed_plan", lambda plan: plan)
    since = insert(db, 2)
    assert [row for row, _, _ in db.changes("tagged", since=since).rows()] == [{"tags": ["x", None], "w": 10}]
    assert ways == ["tables"]


def test_other_definitions_are_other_queries(db: tidings.Database, ways: list[str]) -> None:
    since = insert(db, 2)
    assert len(db.changes("both", since=since).rows()) == 1
    db.sql("CREATE OR REPLACE VIEW both AS SELECT b.w FROM a JOIN b ON b.k = a.k + 1")
    assert [row for row, _, _ in db.changes("both", since=since).rows()] == [{"w": 10}, {"w": 20}]
    assert ways == ["lists", "lists"]

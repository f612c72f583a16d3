"""Steps that no change matters to are not run: told for all of them by one query."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import tidings
from tidings.engine.duckdb import PreparedQueries
from tidings.waves.in_process import relevance_check, small_steps


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as db:
        db.sql("""
            CREATE TABLE a (k INT, v BIGINT);
            CREATE TABLE b (k INT, w BIGINT);
            INSERT INTO b VALUES (1, 10), (2, 20);
            CREATE VIEW few AS SELECT a.k, a.v, b.w FROM a JOIN b ON b.k = a.k WHERE a.v < 5;
            CREATE VIEW many AS SELECT a.k, a.v, b.w FROM a JOIN b ON b.k = a.k WHERE a.v > 5;
            CREATE VIEW divided AS SELECT a.k, b.w FROM a JOIN b ON b.k = a.k WHERE 10 DIV a.v = 2;
        """)
        yield db


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prepared queries that were run: checks and steps."""
    monkeypatch.setattr(small_steps, "INTERPRETED_LIMIT", -1)
    run: list[str] = []
    fetch = PreparedQueries.fetch

    def noted(self: PreparedQueries, text: str, arguments: dict[str, str]) -> pa.Table:
        run.append("check" if "BOOL_OR" in text else "step")
        return fetch(self, text, arguments)

    monkeypatch.setattr(PreparedQueries, "fetch", noted)
    return run


def changes(db: tidings.Database, value: int, *views: str) -> list[list[int]]:
    """What views gain when a row comes, all over the same batch."""
    since = db.time
    with db.transaction() as tx:
        tx.insert("a", [(1, value)])
    return [[row["w"] for row, _, _ in db.changes(view, since=since).rows()] for view in views]


def test_one_check_for_all(db: tidings.Database, queries: list[str]) -> None:
    """What is met with for the first time while a batch runs is checked from the next one on."""
    assert changes(db, 1, "few", "many") == [[10], []]
    assert queries == ["check", "step", "step"]
    queries.clear()
    assert changes(db, 1, "few", "many") == [[10], []]
    assert queries == ["check", "step"]
    queries.clear()
    assert changes(db, 9, "few", "many") == [[], [10]]
    assert queries == ["check", "step"]
    queries.clear()
    assert changes(db, 5, "few", "many") == [[], []]
    assert queries == ["check"]


def test_what_fails_in_a_check_is_left_to_the_steps(db: tidings.Database, queries: list[str]) -> None:
    assert changes(db, 4, "few", "divided") == [[10], [10]]
    queries.clear()
    since = db.time
    with db.transaction() as tx:
        tx.insert("a", [(3, 0)])
    assert db.changes("few", since=since).rows() == []
    assert queries == ["check", "step"]


def test_many_changes_are_not_checked(
    db: tidings.Database, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance_check, "CHECKED_LIMIT", 0)
    changes(db, 1, "few", "many")
    queries.clear()
    assert changes(db, 1, "few", "many") == [[10], []]
    assert queries == ["step", "step"]


def test_other_definitions_have_other_conditions(db: tidings.Database) -> None:
    changes(db, 1, "few", "many")
    changes(db, 1, "few", "many")
    db.sql("CREATE OR REPLACE VIEW few AS SELECT a.k, b.w FROM a JOIN b ON b.k = a.k WHERE a.v < 50")
    assert changes(db, 40, "few", "many") == [[10], [10]]
    assert changes(db, 40, "few", "many") == [[10], [10]]


def test_rules_are_judged_by_what_matters_to_them(db: tidings.Database, queries: list[str]) -> None:
    fired: list[int] = []

    @db.procedure("note")
    def note(rows: list[dict[str, int]]) -> None:
        fired.extend(row["v"] for row in rows)

    db.sql("CREATE RULE low WHEN SELECT v FROM few DO CALL note(v) WITH (action = 'deferred')")
    db.sql("CREATE RULE high WHEN SELECT v FROM many DO CALL note(v) WITH (action = 'deferred')")
    for value in (1, 9, 5, 2, 8):
        queries.clear()
        with db.transaction() as tx:
            tx.insert("a", [(1, value)])
    assert fired == [1, 9, 2, 8]
    assert queries == ["check", "step", "step", "step"]  # of the one rule: what begins to hold
    queries.clear()
    with db.transaction() as tx:
        tx.insert("a", [(1, 5)])
    assert queries == ["check"]

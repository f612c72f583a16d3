"""A wave stops where there is nothing to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

import tidings
from tidings.engine.duckdb import DuckDB, PreparedQueries
from tidings.waves.in_process import small_steps


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that DuckDB is asked, where it is asked for every step."""
    monkeypatch.setattr(small_steps, "INTERPRETED_LIMIT", -1)
    asked: list[str] = []
    fetch, fetch_prepared = DuckDB.fetch, PreparedQueries.fetch

    def counted(self: DuckDB, text: str, *rest: object, **more: object) -> object:
        asked.append(text)
        return fetch(self, text, *rest, **more)  # type: ignore[arg-type]

    def counted_prepared(self: PreparedQueries, text: str, arguments: Mapping[str, str]) -> object:
        asked.append(text)
        return fetch_prepared(self, text, arguments)

    monkeypatch.setattr(DuckDB, "fetch", counted)
    monkeypatch.setattr(PreparedQueries, "fetch", counted_prepared)
    return asked


@pytest.fixture(params=["spark", "auto"])
def db(request: pytest.FixtureRequest) -> Iterator[tidings.Database]:
    clock = tidings.ManualClock(1)
    with tidings.open(engine="duckdb", execution=request.param, clock=clock) as db:
        db.sql("""
            CREATE TABLE sales (shop INT, amount INT);
            CREATE TABLE shops (shop INT, name STRING);
            INSERT INTO shops VALUES (1, 'north'), (2, 'south');
            CREATE VIEW large AS SELECT s.shop, h.name, s.amount FROM sales s JOIN shops h ON h.shop = s.shop
                WHERE s.amount > 100;
            CREATE MATERIALIZED VIEW totals AS SELECT name, SUM(amount) AS total FROM large GROUP BY name;
        """)
        yield db


def test_steps_above_an_empty_delta_are_not_run(db: tidings.Database, texts: list[str]) -> None:
    db.sql("INSERT INTO sales VALUES (1, 500)")
    db.advance()
    all_steps = len(texts)
    assert db.query("totals").rows() == [{"name": "north", "total": 500}]
    texts.clear()
    db.sql("INSERT INTO sales VALUES (1, 5)")
    db.advance()
    assert 0 < len(texts) < all_steps
    assert db.query("totals").rows() == [{"name": "north", "total": 500}]


def test_together(db: tidings.Database, texts: list[str]) -> None:
    for number in range(3):
        db.sql(
            f"CREATE MATERIALIZED VIEW own{number} AS SELECT shop, COUNT(*) AS n FROM large WHERE shop > {number}"
            " GROUP BY shop"
        )
    db.sql("INSERT INTO sales VALUES (2, 500), (1, 300), (1, 5)")
    db.advance()
    every = len(texts)
    assert [len(db.query(f"own{number}")) for number in range(3)] == [2, 1, 0]
    texts.clear()
    db.sql("INSERT INTO sales VALUES (2, 7)")
    db.advance()
    assert 0 < len(texts) < every
    texts.clear()
    db.sql("DELETE FROM sales WHERE amount = 500")
    db.advance()
    assert [db.query(f"SELECT shop FROM own{number}").rows() for number in range(3)] == [[{"shop": 1}], [], []]


def test_time_passes_where_nothing_changes(db: tidings.Database) -> None:
    db.sql("CREATE TABLE tasks (task INT, due TIMESTAMP)")
    db.sql("CREATE MATERIALIZED VIEW late AS SELECT COUNT(*) AS n FROM tasks WHERE due < now()")
    db.sql("INSERT INTO tasks VALUES (1, TIMESTAMP'1970-01-01 00:00:10')")
    db.sql("INSERT INTO tasks VALUES (2, TIMESTAMP'1970-01-01 00:00:20'); DELETE FROM tasks WHERE task = 2")
    db._parts.clock.set(15_000_000)  # type: ignore[attr-defined]
    db.advance()
    assert db.query("late").rows() == [{"n": 1}]

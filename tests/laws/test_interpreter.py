"""The law of interpreted steps: what Python makes of a handful of rows is the difference of two recomputes.

The views are made of what the interpreter knows, so no step of theirs is run by a query.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import tidings
from tests.laws.seeds import chunks
from tidings.engine.duckdb import PreparedQueries
from tidings.waves.in_process import small_steps

SCHEMA = """
CREATE TABLE t (k INT, n BIGINT, w STRING, day DATE, p DECIMAL(10, 2), b BOOLEAN);
CREATE TABLE u (x INT, y BIGINT, z STRING, due DATE);
CREATE VIEW pairs AS SELECT t.k, t.n, t.w, u.y, u.z FROM t JOIN u ON u.x = t.k;
"""
VIEWS = [
    "SELECT k, n + 1 AS m, w FROM t WHERE n > 2 OR w = 'a'",
    "SELECT t.k, u.y - t.n AS gap, u.z FROM t JOIN u ON u.x = t.k AND u.y > t.n",
    "SELECT t.k, u.z FROM t JOIN u ON u.z <=> t.w WHERE t.b",
    "SELECT a.k, b.n FROM t a JOIN t b ON b.k = a.k AND b.n < a.n",
    "SELECT k, n, y FROM pairs WHERE n % 3 = 1 AND w <> z",
    "SELECT t.day, u.due FROM t, u WHERE t.day < u.due AND t.day > DATE '2024-01-02' AND t.k = u.x",
    "SELECT k AS a, w AS c FROM t UNION ALL SELECT x, z FROM u WHERE y BETWEEN 0 AND 3",
    "SELECT CASE WHEN n < 0 THEN 'less' WHEN n > 3 THEN w ELSE 'some' END AS c, if(b, n, -n) AS n FROM t",
    "SELECT coalesce(n, 0) AS n, abs(k) AS k, p FROM t WHERE p > 1.5 OR p IS NULL",
]
"""Views whose every step is known to the interpreter."""

STORED = [
    *VIEWS,
    "SELECT k, count(*) AS c, sum(n) AS s FROM t GROUP BY k",
    "SELECT w, sum(p) AS s, count(p) AS c FROM t WHERE n > 0 GROUP BY w",
    "SELECT z, count(*) AS c, sum(n + y) AS s FROM pairs GROUP BY z",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.k)",
    "SELECT k, n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.k AND u.y > 1)",
    "SELECT t.k, t.n, u.z FROM t LEFT JOIN u ON u.x = t.k",
]
"""Of these some steps are queries, but enough are not."""


def random_t(rng: Random) -> tuple[Any, ...]:
    return (
        rng.choice([None, 1, 2, 3]),
        rng.choice([None, -1, 0, 1, 2, 3, 4, 5]),
        rng.choice([None, "a", "b", ""]),
        rng.choice([None, date(2024, 1, 1), date(2024, 1, 3), date(2024, 2, 1)]),
        rng.choice([None, Decimal("0.50"), Decimal("1.50"), Decimal("2.25")]),
        rng.choice([None, True, False]),
    )


def random_u(rng: Random) -> tuple[Any, ...]:
    return random_t(rng)[:4]


def change(db: tidings.Database, rng: Random, present: dict[str, list[tuple[Any, ...]]]) -> None:
    """One transaction over both tables."""
    with db.transaction() as tx:
        for table, make in (("t", random_t), ("u", random_u)):
            rows = present[table]
            gone = [rows.pop(rng.randrange(len(rows))) for _ in range(min(len(rows), rng.randrange(3)))]
            fresh = [make(rng) for _ in range(rng.randrange(4))]
            fresh += rng.sample(gone, min(len(gone), rng.randrange(2)))
            if gone:
                tx.delete(table, gone)
            if fresh:
                tx.insert(table, fresh)
            rows += fresh


def answer(db: tidings.Database, query: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in db.query(query).rows())


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The prepared queries that were run."""
    run: list[str] = []
    fetch = PreparedQueries.fetch

    def noted(self: PreparedQueries, text: str, arguments: dict[str, str]) -> Any:
        run.append(text)
        return fetch(self, text, arguments)

    monkeypatch.setattr(PreparedQueries, "fetch", noted)
    monkeypatch.setattr(small_steps, "INTERPRETED_LIMIT", 100_000)
    return run


@pytest.mark.parametrize("seeds", chunks(30, quick=3, size=3))
def test_changes_are_differences_of_recomputes(seeds: range, queries: list[str]) -> None:
    for seed in seeds:
        rng, clock = Random(seed), tidings.ManualClock(1)
        with tidings.open(engine="duckdb", execution="auto", strategy="differential", clock=clock) as db:
            db.sql(SCHEMA)
            present: dict[str, list[tuple[Any, ...]]] = {"t": [], "u": []}
            before = {query: answer(db, query) for query in VIEWS}
            for _ in range(5):
                since = db.time
                change(db, rng, present)
                for query in VIEWS:
                    after, expected = answer(db, query), Counter(before[query])
                    for row, _, weight in db.changes(query, since=since).rows():
                        expected[tuple(row.values())] += weight
                    assert {row: n for row, n in expected.items() if n} == after, (seed, query)
                    before[query] = after
    assert queries == []


@pytest.mark.parametrize("seeds", chunks(20, quick=2, size=2))
def test_stored_views_are_kept(seeds: range, queries: list[str]) -> None:
    """Several transactions in a batch, all views together."""
    for seed in seeds:
        rng, clock = Random(seed), tidings.ManualClock(1)
        with tidings.open(engine="duckdb", execution="auto", strategy="differential", clock=clock) as db:
            db.sql(SCHEMA)
            for number, query in enumerate(STORED):
                db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
            present: dict[str, list[tuple[Any, ...]]] = {"t": [], "u": []}
            for _ in range(4):
                for _ in range(rng.randrange(1, 4)):
                    change(db, rng, present)
                db.advance()
                for number, query in enumerate(STORED):
                    assert answer(db, f"SELECT * FROM v{number}") == answer(db, query), (seed, query)
            assert {w.execution for w in db.waves()} == {"in-process"}

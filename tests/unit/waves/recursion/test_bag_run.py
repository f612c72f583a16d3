"""UNION ALL in a recursion: rows count as often as they are derived, and changes are computed from changes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import tidings

PATHS = """
WITH RECURSIVE p (a, b, n) AS (
  SELECT s.node, s.node, 1 FROM start s
  UNION ALL SELECT p.a, e.dst, p.n + e.w FROM p JOIN edge e ON e.src = p.b WHERE p.n < 50
) SELECT a, b, n FROM p
"""
TWICE = """
WITH RECURSIVE p (x, y) AS (
  SELECT e.src, e.dst FROM edge e JOIN start s ON s.node = e.src
  UNION ALL SELECT p.x, f.dst FROM p JOIN edge e ON e.src = p.y JOIN edge f ON f.src = e.dst
) SELECT x, y FROM p
"""
APART = """
WITH RECURSIVE p (a, b) AS (
  SELECT node, node FROM start
  UNION ALL SELECT p.a, e.dst FROM p JOIN edge e ON e.src = p.b
    WHERE NOT EXISTS (SELECT 1 FROM start s WHERE s.node = e.dst)
) SELECT a, b FROM p
"""


@pytest.fixture
def db() -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb") as database:
        database.sql("CREATE TABLE edge (src INT, dst INT, w INT); CREATE TABLE start (node INT)")
        yield database


def _answer(db: tidings.Database, query: str, at: int) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as own:
        for table in ("edge", "start"):
            own.register(table, db.query(f"SELECT * FROM {table}", as_of=at).to_arrow())
        return Counter(own.execute(query).fetchall())


def _commit(db: tidings.Database, rng: random.Random) -> None:
    """Rows of a graph without circles come and go, some of them more than once."""
    with db.transaction() as tx:
        for _ in range(rng.randint(1, 4)):
            a, b = sorted(rng.sample(range(6), 2))
            if rng.random() < 0.4:
                tx.sql(f"DELETE FROM edge WHERE src = {a} AND dst >= {b}")
            elif rng.random() < 0.3:
                tx.sql(f"DELETE FROM start WHERE node = {a}")
            else:
                tx.insert("edge", [(a, b, rng.randint(1, 3))] * rng.randint(1, 2))
                tx.insert("start", [(rng.choice([0, 1, None]),)] if rng.random() < 0.5 else [])


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("query", [PATHS, TWICE, APART], ids=["paths", "twice", "apart"])
def test_changes_are_the_difference_of_recomputes(db: tidings.Database, query: str, stored: bool, seed: int) -> None:
    db.sql(f"CREATE {'MATERIALIZED ' if stored else ''}VIEW v AS {query}")
    rng = random.Random(seed)
    since, before = db.time, Counter[tuple[Any, ...]]()
    times: list[int] = []
    for number in range(14):
        _commit(db, rng)
        times.append(db.time)
        if rng.random() < 0.5 or number == 13:
            told: dict[int, Counter[tuple[Any, ...]]] = {}
            for row, time, weight in db.changes("v", since=since, per_commit=True).rows():
                told.setdefault(time, Counter())[tuple(row.values())] += weight
            for time in dict.fromkeys(times):
                after = _answer(db, query, time)
                wanted = Counter(after)
                wanted.subtract(before)
                assert told.pop(time, Counter()) == Counter({row: n for row, n in wanted.items() if n})
                before = after
            assert not told
            since, times = db.time, []
            assert Counter(tuple(row.values()) for row in db.query("v").rows()) == before


def _ways(db: tidings.Database) -> list[str]:
    return [record.way for record in db._parts.scheduler.recursion.records.values()]


@pytest.mark.parametrize(
    ("create", "statement", "way"),
    [
        ("MATERIALIZED VIEW", "INSERT INTO edge VALUES (1, 2, 1)", "stored"),
        ("MATERIALIZED VIEW", "DELETE FROM edge", "stored"),
        ("VIEW", "INSERT INTO start VALUES (1)", "from changes alone"),
        ("VIEW", "INSERT INTO edge VALUES (1, 2, 1)", "recompute"),
    ],
)
def test_old_rows_are_needed_only_where_the_recursion_meets_a_change(
    db: tidings.Database, create: str, statement: str, way: str
) -> None:
    db.sql("INSERT INTO edge VALUES (0, 1, 1), (1, 3, 1); INSERT INTO start VALUES (0)")
    db.sql(f"CREATE {create} v AS {PATHS}")
    before = db.time
    db.sql(statement)
    assert db.changes("v", since=before).rows()
    assert _ways(db) == [way]
    assert "duplicates count" in db.explain("v", since=before)


def test_a_change_without_end_is_refused() -> None:
    with tidings.open(engine="duckdb", rounds=30) as db:
        db.sql("CREATE TABLE edge (src INT, dst INT, w INT); CREATE TABLE start (node INT)")
        db.sql("INSERT INTO edge VALUES (0, 1, 0), (1, 0, 0)")
        db.sql(f"CREATE VIEW v AS {PATHS}")
        before = db.time
        db.sql("INSERT INTO start VALUES (0)")
        with pytest.raises(tidings.errors.FixpointTooLong):
            db.changes("v", since=before)

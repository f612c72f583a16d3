"""Memory does not grow with the number of commits: measured as what is owned, since a process gives little back."""

from __future__ import annotations

import gc
from dataclasses import replace
from datetime import timedelta
from functools import _lru_cache_wrapper
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

import tidings
from tests.unit.inside import compiled_of

COMMITS = 20


class Owned(NamedTuple):
    """What there is in memory."""

    objects: int
    arrow: int
    entries: int


def owned(db: tidings.Database) -> Owned:
    """What is there beside what is compiled and cached, which has a size of its own."""
    compiled = compiled_of(db)
    largest = max(map(len, compiled._sections))
    assert largest <= compiled.limit()
    compiled.forget()
    gc.collect()
    for thing in gc.get_objects():
        if isinstance(thing, _lru_cache_wrapper) and getattr(thing, "__module__", "").startswith("tidings"):
            thing.cache_clear()
    gc.collect()
    entries = sum(len(table.entry_log.facts) for table in db._parts.storage.tables())
    return Owned(len(gc.get_objects()), pa.total_allocated_bytes(), entries)


def live(db: tidings.Database, clock: tidings.ManualClock, begin: int) -> Owned:
    """Commits, each with constants of its own, and all that goes with them; then what there is."""
    for number in range(begin, begin + COMMITS):
        clock.advance(timedelta(seconds=1))
        with db.transaction() as tx:
            tx.sql("DELETE FROM large")
            tx.sql(f"DELETE FROM t WHERE k = {number % 5}")
            tx.sql(f"INSERT INTO t VALUES ({number % 5}, {number})")
        assert db.query(f"SELECT k FROM t WHERE x = {number}").rows() == [{"k": number % 5}]
        if number % 5 == 0:
            db.advance()
            db.deliveries.step()
            list(db.subscribe("totals", name="follower"))
            assert db.changes(f"SELECT k FROM t WHERE x > {number - 2}", since=db.time - 1).rows()
    db.fold()
    return owned(db)


@pytest.mark.slow
def test_memory_does_not_grow_with_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.compiled.FEW", 30)
    monkeypatch.setattr("tidings.compiled.PER_DEFINITION", 5)
    clock = tidings.ManualClock(1_000_000)
    with tidings.open(tmp_path, engine="duckdb", clock=clock, retention=timedelta(seconds=10)) as db:
        db._parts.folding.policy = replace(db._parts.folding.policy, most_entries=10, rows=200)
        db.sql("""
            CREATE TABLE t (k INT, x INT);
            CREATE TABLE large (k INT, x INT);
            CREATE MATERIALIZED VIEW totals AS SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k;
            CREATE VIEW few AS SELECT DISTINCT x FROM t WHERE k < 3;
            CREATE RULE big WHEN SELECT k, s FROM totals WHERE s > 10 DO INSERT INTO large SELECT k, s FROM condition
              WITH (action = 'deferred');
            CREATE RULE tell WHEN SELECT x FROM few DO NOTIFY 'x'
        """)
        lived = [live(db, clock, number * COMMITS) for number in range(7)][2:]
    # What leaks grows in every stretch; what the tests before have left behind may do so in one.
    stretches = [[b - a for a, b in zip(before, after, strict=True)] for before, after in pairwise(lived)]
    objects, arrow, entries = map(min, zip(*stretches, strict=True))
    assert objects < COMMITS * 8, f"objects: {lived}"
    assert arrow < COMMITS * 400, f"bytes of Arrow: {lived}"
    assert entries <= 10, f"log entries: {lived}"

"""After a while a database that commits needs no more memory, with views, rules, messages and a subscriber."""

from __future__ import annotations

import gc
import sys
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

import tidings
from tidings.store.fold import FoldPolicy

WARM, MORE = 600, 900
"""Commits after which nothing grows any more, and those over which that is looked at."""

SPREAD = 0.05
"""Logs grow and are folded, so what is held goes up and down by a few percent."""


class Held(NamedTuple):
    """What a process holds, whatever the machine does: its own count, and not what the system has given it."""

    blocks: int
    """Blocks of memory of Python's objects."""
    arrow: int
    """Bytes of Arrow's tables."""


@pytest.mark.slow
def test_what_is_held_does_not_grow_with_the_number_of_commits(tmp_path: Path) -> None:
    clock = tidings.ManualClock(10**15)
    files = tidings.DeliverySettings(files=tmp_path / "told")
    (tmp_path / "told").mkdir()
    with tidings.open(
        tmp_path / "d", engine="duckdb", clock=clock, retention=timedelta(minutes=1), deliveries=files
    ) as db:
        db._parts.folding.policy = FoldPolicy(most_entries=50, rows=200)
        db.sql(
            "CREATE TABLE t (k INT, x INT); CREATE TABLE noted (k INT, x INT);"
            "CREATE MATERIALIZED VIEW best WITH (refresh = 'immediate') AS SELECT k, max(x) AS m FROM t GROUP BY k;"
            "CREATE MATERIALIZED VIEW counted AS SELECT x, count(*) AS n FROM t GROUP BY x;"
            "CREATE RULE note WHEN SELECT k, x FROM t WHERE x > 50 DO INSERT INTO noted SELECT k, x FROM condition;"
            "CREATE RULE tell WHEN SELECT k, x FROM t WHERE x > 55 DO FILE 'told.jsonl'"
        )
        held = [commits(db, clock, WARM), commits(db, clock, MORE), commits(db, clock, MORE)]
    _, before, after = held
    assert after.blocks < before.blocks * (1 + SPREAD), held
    assert after.arrow < before.arrow * (1 + SPREAD) + 100_000, held


def commits(db: tidings.Database, clock: tidings.ManualClock, number: int) -> Held:
    """Commit so many times, read what changed, and see what is held at the largest after a while."""
    seen = []
    for n in range(number):
        clock.advance(timedelta(seconds=1))
        db.sql(f"BEGIN; INSERT INTO t VALUES ({n % 20}, {n % 60}); DELETE FROM t WHERE k = {(n + 7) % 20}; COMMIT")
        if n % 20 == 0:
            db.advance()
            db.deliveries.step()
            for batch in db.subscribe("best", name="follower"):
                batch.ack()
            db.sql("DELETE FROM noted")
            db.query(f"SELECT count(*) AS n FROM t WHERE x > {n}")
        if n % 100 == 99:
            gc.collect()
            seen.append(Held(sys.getallocatedblocks(), pa.total_allocated_bytes()))
    return Held(max(s.blocks for s in seen), max(s.arrow for s in seen))

"""Refreshing, replacing and following views on Spark, in a folder that is opened again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings import ChangeBatch

pytestmark = pytest.mark.spark

PER_K = "SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k"


def applied(held: Counter[tuple[Any, ...]], batches: list[ChangeBatch]) -> Counter[tuple[Any, ...]]:
    for batch in batches:
        if batch.snapshot:
            held = Counter()
        for change in batch.changes.rows():
            held[tuple(change.row.values())] += change.weight
    return Counter({row: n for row, n in held.items() if n})


def test_a_follower_of_an_immediate_view_that_is_replaced(spark: Any, tmp_path: Path) -> None:
    clock = tidings.ManualClock(0)
    with tidings.open(tmp_path / "db", spark=spark, clock=clock) as db:
        db.sql(f"CREATE TABLE t (k INT, x INT); CREATE MATERIALIZED VIEW v WITH (refresh = 'immediate') AS {PER_K}")
        held = applied(Counter(), list(db.subscribe("v", name="follower")))
        db.sql("INSERT INTO t VALUES (1, 2), (2, 3)")
        db.sql("INSERT INTO t VALUES (1, 5)")
        assert db.status().view("v").position == 2
    with tidings.open(tmp_path / "db", spark=spark, clock=clock) as db:
        held = applied(held, list(db.subscribe("v", name="follower")))
        assert held == {(1, 2, 7): 1, (2, 1, 3): 1}
        with tidings.open(tmp_path / "db", engine="duckdb", clock=clock, read_only=True) as reader:
            assert applied(Counter(), list(reader.subscribe("v"))) == held
            replaced = db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, s FROM ({PER_K}) AS g WHERE n > 1")
            assert replaced is not None
            assert [r["outcome"] for r in replaced.rows()] == ["recomputed", "kept"]
            with pytest.raises(tidings.errors.MustRefetch):
                list(db.subscribe("v", name="follower"))
            assert applied(Counter(), list(db.subscribe("v"))) == {(1, 7): 1}
            db.sql("INSERT INTO t VALUES (2, 1)")
            assert applied(Counter(), list(reader.subscribe("v"))) == {(1, 7): 1, (2, 4): 1}

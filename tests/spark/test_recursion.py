"""Recursion on Spark: rounds of statements, and small work in this process, tell the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tidings

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
reach(x, y) :- edge(x, y).
reach(x, y) :- edge(x, z), reach(z, y).
odd(y) :- edge(1, y).
odd(y) :- even(x), edge(x, y).
even(y) :- odd(x), edge(x, y).
sink(y) :- edge(_, y), !edge(y, _).
"""
STATEMENTS = [
    "INSERT INTO edge VALUES (1, 2), (2, 3), (3, 4), (4, 2), (7, 8)",
    "DELETE FROM edge WHERE src = 3",
    "INSERT INTO edge VALUES (8, 1)",
]


def _told(db: tidings.Database) -> dict[str, list[Counter[tuple[Any, ...]]]]:
    db.sql("CREATE TABLE edge (src INT, dst INT)")
    db.datalog(PROGRAM)
    told: dict[str, list[Counter[tuple[Any, ...]]]] = {}
    for statement in STATEMENTS:
        before = db.time
        db.sql(statement)
        for view in ("reach", "even", "sink"):
            changes = db.changes(view, since=before, per_commit=True).rows()
            told.setdefault(view, []).append(Counter((*c.row.values(), c.weight) for c in changes))
    told["answer"] = [Counter(tuple(row.values()) for row in db.query("reach").rows())]
    return told


def test_rounds_on_spark_and_rows_in_this_process_tell_the_same(spark: Any) -> None:
    with tidings.open(engine="duckdb") as db:
        expected = _told(db)
    with tidings.open(spark=spark, execution="spark") as db:
        assert not db._parts.runner.rules_in_memory
        assert _told(db) == expected
    with tidings.open(spark=spark) as db:
        assert _told(db) == expected

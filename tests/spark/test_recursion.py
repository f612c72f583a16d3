"""Recursion on Spark: rounds of statements, and small work in this process, tell the same."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

import tidings
from tidings.engine.recursion.growing_folders import GrowingFolders

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


SHORTEST = "km(1, min(0)). km(y, min(d + 1)) :- km(x, d), edge(x, y)."


def test_large_rows_are_handed_over_in_folders_that_grow(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With files from the third row on: rounds add files, least values replace rows, and nothing is left behind."""
    monkeypatch.setattr("tidings.engine.run.KEEP_LIMIT", 2)
    written: list[str] = []
    holding = GrowingFolders.holding

    def noted(self: GrowingFolders, name: str, columns: Any, rows: Any) -> Any:
        folder = holding(self, name, columns, rows)
        written.append(f"{folder.path} {rows.num_rows}")
        return folder

    monkeypatch.setattr(GrowingFolders, "holding", noted)
    with tidings.open(spark=spark, execution="spark") as db:
        db.sql("CREATE TABLE edge (src INT, dst INT)")
        db.sql("INSERT INTO edge VALUES (1, 2), (2, 3), (3, 4), (4, 2), (1, 5)")
        db.datalog("reach(x, y) :- edge(x, y). reach(x, y) :- edge(x, z), reach(z, y). " + SHORTEST)
        assert len(db.query("reach").rows()) == 13
        assert {tuple(row.values()) for row in db.query("km").rows()} == {(1, 0), (2, 1), (3, 2), (4, 3), (5, 1)}
    assert len({line.split()[0] for line in written}) < len(written), "a folder grows"
    assert not any(os.path.exists(line.split()[0]) for line in written)


def test_small_recursions_over_files_run_in_this_process(spark: Any, tmp_path: Any) -> None:
    with tidings.open(tmp_path / "db", spark=spark) as db:
        db.sql("CREATE TABLE edge (src INT, dst INT)")
        db.sql("INSERT INTO edge VALUES (1, 2), (2, 3), (3, 4)")
        db.fold()
        statements = Counter[str]()
        fetch = db._parts.backend.fetch

        def counted(text: str, *args: Any, **named: Any) -> Any:
            statements["fetched"] += 1
            return fetch(text, *args, **named)

        db._parts.backend.fetch = counted  # type: ignore[method-assign]
        query = "DATALOG $$ reach(x, y) :- edge(x, y). reach(x, y) :- edge(x, z), reach(z, y). $$"
        assert len(db.query(query).rows()) == 6
        assert statements["fetched"] <= 3, "its rows are counted, fetched, and the answer is read"

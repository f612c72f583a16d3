"""The third law: it does not matter which views below have their delta computed as a step of their own.

Inlined or shared, at whatever levels, the program computes the same delta.
"""

from __future__ import annotations

from random import Random

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case
from tests.laws.replay import program, replayed, run
from tests.laws.seeds import chunks
from tidings.errors import SparkNeeded


@pytest.mark.parametrize("seeds", chunks(175, quick=25, size=25))
def test_sharing_does_not_matter(seeds: range) -> None:
    levels: set[int] = set()
    for seed in seeds:
        it = case(seed, views=4)
        with replayed(it) as db:
            end = it.instants[-1]
            try:
                inlined = oracle.changes(run(db, program(db, it.view), 0, end))
            except SparkNeeded:  # of a value that DuckDB does not evaluate as Spark does
                continue
            for share in subsets(it):
                shared = program(db, it.view, share)
                levels.update(s.level for s in shared.steps)
                oracle.assert_same(
                    it, f"{it.view} sharing {sorted(share)}", oracle.changes(run(db, shared, 0, end)), inlined
                )
    assert max(levels) >= 2, "no program had several levels"


def subsets(it: Case) -> list[frozenset[str]]:
    """All views below the last one, and some of them."""
    below = [v.name for v in it.views[:-1]]
    some = Random(it.seed).sample(below, k=len(below) // 2 + 1)
    return [frozenset(below), frozenset(some)]


def test_a_constant_view_of_which_no_column_is_used_can_be_shared() -> None:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock()) as db:
        db.sql(
            "CREATE TABLE t (x INT); CREATE VIEW c AS SELECT 'a' AS s; CREATE VIEW v AS SELECT x FROM t CROSS JOIN c"
        )
        with db.transaction() as tx:
            tx.insert("t", [(7,)])
        shared = run(db, program(db, "v", frozenset({"c"})), 0, db.time)
        assert oracle.changes(shared) == {1: {(7,): 1}}

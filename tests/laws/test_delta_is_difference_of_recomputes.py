"""The first law: what ``changes`` reports is the difference of full recomputes, at every instant.

    Δv at t  =  v(state at t)  -  v(state just before t)        as bags

for every view of every case, over the whole history and over a part of it that begins and ends anywhere.
"""

from __future__ import annotations

from random import Random

import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case
from tests.laws.replay import replayed
from tests.laws.seeds import chunks
from tidings.errors import SparkNeeded


@pytest.mark.parametrize("seeds", chunks(500, quick=15, size=50))
def test_delta_is_difference_of_recomputes(seeds: range) -> None:
    checked = []
    for seed in seeds:
        it = case(seed)
        answers = oracle.recompute_on_duckdb(it)
        with replayed(it) as db:
            for view in it.views:
                for since, until in intervals(it):
                    checked.append(check(it, db, view.name, answers[view.name], since, until))
    assert sum(checked) > 0.9 * len(checked), "DuckDB refuses few"


def intervals(it: Case) -> list[tuple[int, int]]:
    """The whole history, and a part of it."""
    end = it.instants[-1]
    since, until = sorted(Random(it.seed).choices(range(end + 5), k=2))
    return [(0, end), (since, until)]


def check(it: Case, db: tidings.Database, view: str, answers: oracle.Answers, since: int, until: int) -> bool:
    """Compare one delta, its rows and its types, with the oracle's; False if it has a value that needs Spark."""
    try:
        delta = db.changes(view, since, until, per_commit=True).to_arrow()
    except SparkNeeded:
        return False
    oracle.assert_same(it, view, oracle.changes(delta), answers.between(since, until))
    assert oracle.families(oracle.columns(delta.schema)) == oracle.families(answers.columns), it
    return True

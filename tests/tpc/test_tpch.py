"""TPC-H: the 22 queries as views, each exact after every one of twenty batches of mixed changes."""

from __future__ import annotations

import random

import pytest

import tidings
from tests.tpc.benchmark import Workload, connect, queries

BATCHES = 20
SEED = 20_261


@pytest.mark.slow
def test_every_query_is_exact_after_every_batch() -> None:
    plain = connect("tpch", 0.01)
    work = Workload(plain, tidings.open(engine="duckdb", clock=tidings.ManualClock(1)), random.Random(SEED))
    work.load()
    asked = queries(plain, "tpch")
    assert len(asked) == 22
    before = {q.number: work.answer(q) for q in asked}
    for batch in range(BATCHES):
        since = work.db.time
        for _ in range(2):
            work.change(most=4)
        for query in asked:
            after = work.answer(query)
            expected = after.copy()
            expected.subtract(before[query.number])
            found = work.delta(query, since)
            missing = {row: n for row, n in expected.items() if n != found[row]}
            wrong = {row: n for row, n in found.items() if n != expected[row]}
            assert not missing, f"query {query.number}, batch {batch}, seed {SEED}: {missing} expected, {wrong} found"
            assert not wrong, f"query {query.number}, batch {batch}, seed {SEED}: {wrong} found"
            before[query.number] = after

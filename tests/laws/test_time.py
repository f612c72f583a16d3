"""The first law for conditions on time: rows enter and leave at their exact instants, also when no table changes.

    Δv at t  =  v(state at t, now = t)  -  v(state just before t, now = t - 1)

for random combinations of comparisons with ``now()`` and ``current_date()``, alone and below joins, groups, outer
joins, subqueries and LIMIT; over a whole history and split at any point of time.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import tidings
from tests.laws.seeds import chunks
from tests.laws.timed_views import expected, replay, reported, timed_case
from tidings.front.choices import Engine


def check(seed: int, engine: Engine, session: Any = None) -> bool:
    """Whether the case had changes that no transaction made."""
    case = timed_case(seed)
    clock = tidings.ManualClock(0)
    with tidings.open(engine=engine, clock=clock, spark=session, execution="spark") as db:
        replay(case, db, clock)
        want = expected(case)
        first = case.commits[0][0]
        got = reported(db, case.query, 0, None)
        assert got == want, f"{case}\n{engine} says {got}\nexpected {want}"
        cut = Random(seed).randint(first, case.end)
        parts = reported(db, case.query, 0, cut) | reported(db, case.query, cut, None)
        assert parts == want, f"{case}\nsplit at {cut} {engine} says {parts}\nexpected {want}"
    return bool(want.keys() - {at for at, _ in case.commits})


@pytest.mark.parametrize("seeds", chunks(200, quick=20, size=20))
def test_rows_enter_and_leave_at_their_instants(seeds: range) -> None:
    by_time_alone = sum(check(seed, "duckdb") for seed in seeds)
    assert by_time_alone or len(seeds) < 10


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(10, quick=2, size=2))
def test_on_spark(seeds: range, spark: Any) -> None:
    for seed in seeds:
        check(seed, "spark", spark)

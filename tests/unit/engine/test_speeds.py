"""The usual speeds of engines, and the trial that says how this machine compares."""

from __future__ import annotations

import pytest

from tidings.engine.duckdb import DuckDB
from tidings.engine.speeds import DUCKDB, ENOUGH, FARTHEST, GROUPED, NOTHING, RUNS, SPARK, Trial, UsualSpeeds, tried


@pytest.mark.parametrize("engine", [SPARK, DUCKDB])
def test_where_the_trial_takes_as_long_as_usual_speeds_are_usual(engine: UsualSpeeds) -> None:
    assert engine.here(engine.trial) == engine.speeds


def test_no_machine_is_taken_to_be_too_far_from_the_usual_one() -> None:
    fast, slow = DUCKDB.here(Trial(0.0, 0.0)), DUCKDB.here(Trial(1e9, 1e9))
    assert slow.whole == pytest.approx(DUCKDB.speeds.whole * FARTHEST)
    assert fast.operator == pytest.approx(DUCKDB.speeds.operator / FARTHEST)


def test_each_statement_is_run_a_few_times() -> None:
    run: list[str] = []
    assert tried(run.append).nothing < ENOUGH
    assert run == [NOTHING] * RUNS + [GROUPED] * RUNS


def test_duckdb_can_run_it() -> None:
    engine = DuckDB()
    trial = tried(engine.fetch)
    assert 0 < trial.nothing < trial.grouped
    engine.close()

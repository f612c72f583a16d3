"""A wave on Spark that takes far longer than estimated is stopped and run the other way; nothing else is stopped."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

import tidings
from tests.unit.eventually import eventually
from tests.unit.inside import scheduler_of
from tidings.engine.spark import Spark
from tidings.engine.speeds import tried
from tidings.errors import EngineFailed, StatementInterrupted, StatementTimeout
from tidings.watchdog import Watchdog
from tidings.waves import executor as executing

pytestmark = pytest.mark.spark

ENDLESS = "SELECT count(*) AS n FROM range(0, 100000000000000, 1, 2) WHERE hash(id) = 1"


def test_a_statement_is_stopped_and_the_next_one_is_not(spark: Any) -> None:
    engine = Spark(spark)
    with engine.stoppable() as stop, Watchdog().limited(0.5, [stop]) as limit, pytest.raises(EngineFailed):
        engine.fetch(ENDLESS)
    assert limit.is_exceeded
    assert engine.fetch("SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert not engine.session.sparkContext.getJobTags()


def test_what_another_thread_runs_goes_on(spark: Any) -> None:
    engine, rows = Spark(spark), []
    with engine.stoppable() as stop, Watchdog().limited(0.5, [stop]):
        other = Thread(target=lambda: rows.append(spark.range(0, 100_000_000).filter("hash(id) = 1").count()))
        other.start()
        with pytest.raises(EngineFailed):
            engine.fetch(ENDLESS)
        other.join()
    assert rows


def test_a_wave_is_run_the_other_way(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endless, fetch = [ENDLESS], Spark.fetch

    def slow_once(engine: Spark, text: str, *arguments: Any, **options: Any) -> Any:
        return fetch(engine, endless.pop() if endless else text, *arguments, **options)

    with tidings.open(engine="spark", execution="spark", spark=spark, clock=tidings.ManualClock(1)) as db:
        db.sql("CREATE TABLE t (k INT, x INT); INSERT INTO t VALUES (1, 1), (1, 2), (2, 3)")
        monkeypatch.setattr(Spark, "fetch", slow_once)
        monkeypatch.setattr(executing, "longest", lambda estimated, other: 0.5)
        found = db.changes("SELECT k, max(x) AS m FROM t GROUP BY k")
        assert sorted((c.row["k"], c.row["m"]) for c in found.rows()) == [(1, 2), (2, 3)]
        (record,) = scheduler_of(db).executor.records
        assert record.stopped is not None
        assert record.stopped.strategy != record.strategy


def test_statements_end_and_the_database_goes_on(spark: Any) -> None:
    with tidings.open(engine="spark", spark=spark, clock=tidings.ManualClock(1)) as db:
        db.sql("CREATE TABLE t (n BIGINT); INSERT INTO t VALUES (1)")
        db.load("t", [(n,) for n in range(2000)])
        endless = "SELECT count(*) AS n FROM t a, t b, t c, t d WHERE hash(a.n + b.n, c.n + d.n) = 1"
        with pytest.raises(StatementTimeout):
            db.query(endless, timeout=3)
        errors: list[Exception] = []

        def run() -> None:
            try:
                db.sql(f"INSERT INTO t {endless}")
            except Exception as error:
                errors.append(error)

        other = Thread(target=run)
        other.start()
        eventually(lambda: db.interrupt() or not other.is_alive())
        other.join()
        assert [type(error) for error in errors] == [StatementInterrupted]
        assert db.query("SELECT count(*) AS n FROM t").rows() == [{"n": 2001}]
        assert not spark.sparkContext.getJobTags()


def test_the_trial_runs(spark: Any) -> None:
    trial = tried(Spark(spark).fetch)
    assert 0 < trial.nothing < trial.grouped

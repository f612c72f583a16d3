"""Waves as they run: their deltas, which run in one job, and what is recorded."""

from __future__ import annotations

import pytest

from tests.unit.inside import plan_of, scheduler_of
from tidings import Database, errors
from tidings.engine.run import Runner
from tidings.waves import engines
from tidings.waves import executor as executing
from tidings.waves.experience import Way
from tidings.waves.strategy import Strategy
from tidings.waves.wave import Wave, WaveRequest


@pytest.fixture
def filled(db: Database) -> Database:
    db.sql("INSERT INTO quantity VALUES (1, 5), (2, 50); INSERT INTO threshold VALUES (1, 10), (2, 10)")
    return db


def planned(db: Database, name: str, text: str) -> Wave:
    return scheduler_of(db).plan(WaveRequest(name, plan_of(db, text), 0, db.time))


def test_a_wave_is_recorded(filled: Database) -> None:
    executor = scheduler_of(filled).executor
    deltas = executor.run(planned(filled, "low", "low"))
    assert deltas["low"].column("item").to_pylist() == [1]
    (record,) = executor.records
    assert (record.view, record.since, record.until, record.changes, record.rows) == ("low", 0, filled.time, 4, 1)
    assert (record.execution, record.why, record.together) == ("duckdb", "execution is duckdb", 1)
    assert set(record.seconds) == {"plan", "run"}


def test_a_wave_without_changes_is_not(filled: Database) -> None:
    scheduler = scheduler_of(filled)
    wave = scheduler.plan(WaveRequest("low", plan_of(filled, "low"), filled.time, filled.time))
    assert scheduler.executor.run(wave)["low"].num_rows == 0
    assert not scheduler.executor.records


TEXTS = {
    "a": "SELECT item FROM quantity WHERE qty > 9",
    "b": "SELECT lim FROM threshold WHERE item = 1",
    "c": "SELECT item, qty FROM low",
}


def test_small_waves_run_in_one_job(filled: Database) -> None:
    executor = scheduler_of(filled).executor
    waves = [(planned(filled, name, text), frozenset[str]()) for name, text in TEXTS.items()]
    together = executor.run_all(waves)
    assert [record.together for record in executor.records] == [3, 3, 3]
    alone = [executor.run(wave) for wave, _ in waves]
    assert [d.keys() for d in together] == [{"a"}, {"b"}, {"c"}]
    assert [d[n].to_pylist() for d, n in zip(together, TEXTS, strict=True)] == [
        d[n].to_pylist() for d, n in zip(alone, TEXTS, strict=True)
    ]


def test_not_more_than_so_many(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PROGRAMS_PER_JOB", 2)
    executor = scheduler_of(filled).executor
    executor.run_all([(planned(filled, name, text), frozenset()) for name, text in TEXTS.items()])
    assert [record.together for record in executor.records] == [2, 2, 1]


def test_waves_with_steps_of_one_name_do_not_meet(filled: Database) -> None:
    executor = scheduler_of(filled).executor
    waves = [(planned(filled, "same", text), frozenset[str]()) for text in TEXTS.values()]
    assert [d["same"].num_rows for d in executor.run_all(waves)] == [1, 1, 1]
    assert [record.together for record in executor.records] == [1, 1, 1]


ENDLESS = "SELECT count(*) AS n FROM range(1000000000000) AS numbers(id) WHERE hash(id) = 1"


@pytest.fixture
def slow_once(filled: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first program that is run would never end, and estimates say that it ends at once; the programs that ran."""
    ran: list[str] = []
    deltas = Runner.deltas

    def slow(runner: Runner, *arguments: object) -> object:
        ran.append(type(runner.backend).__name__)
        if len(ran) == 1:
            runner.backend.fetch(ENDLESS)
        return deltas(runner, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "deltas", slow)
    monkeypatch.setattr(executing, "longest", lambda estimated, other: 0.05)
    return ran


def test_a_wave_that_takes_too_long_is_run_the_other_way(filled: Database, slow_once: list[str]) -> None:
    executor = scheduler_of(filled).executor
    wave = planned(filled, "low", "low")
    assert executor.run(wave)["low"].column("item").to_pylist() == [1]
    assert wave.other is not None
    assert len(slow_once) == 1 + len(wave.other().ends)
    (record,) = executor.records
    assert (wave.choice.strategy, record.strategy) == (Strategy.DIFFERENTIAL, "recompute and diff")
    assert record.stopped is not None
    assert record.stopped[:2] == ("restricted differential", "duckdb")
    assert "restricted differential on duckdb stopped after" in str(record)
    filled.sql("INSERT INTO quantity VALUES (3, 1); INSERT INTO threshold VALUES (3, 9)")
    assert executor.run(planned(filled, "low", "low"))["low"].num_rows == 2


def test_so_is_a_recompute(filled: Database, slow_once: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    choose = scheduler_of(filled).planner._choice
    monkeypatch.setattr(type(scheduler_of(filled).planner), "_choice", lambda *arguments: choose(*arguments[1:]).other)
    executor = scheduler_of(filled).executor
    assert executor.run(planned(filled, "low", "low"))["low"].column("item").to_pylist() == [1]
    (record,) = executor.records
    assert record.strategy == "restricted differential"
    assert record.stopped is not None
    assert record.stopped.strategy == "recompute and diff"


def test_a_stopped_wave_is_remembered(filled: Database, slow_once: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.waves.experience.LONG", 0.01)
    scheduler = scheduler_of(filled)
    scheduler.executor.run(planned(filled, "low", "low"))
    assert scheduler.planner.estimator.experience.factor("low", Way(recompute=False, execution="duckdb")) > 1


@pytest.mark.parametrize("strict", [True, False])
def test_without_another_way_it_is_not_stopped(
    filled: Database, slow_once: list[str], monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    """Neither where a recompute is refused nor where one strategy is asked for."""
    scheduler = scheduler_of(filled)
    scheduler.planner.only = None if strict else Strategy.DIFFERENTIAL
    wave = scheduler.plan(WaveRequest("low", plan_of(filled, "low"), 0, filled.time, strict=strict))
    assert wave.other is None
    slow_once.append("the next one is not slow")
    scheduler.executor.run(wave)
    assert scheduler.executor.records[-1].stopped is None


def test_what_fails_in_time_is_not_run_again(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []

    def fails(runner: Runner, *arguments: object) -> object:
        ran.append(runner)
        raise errors.EngineFailed(engine="duckdb", reason="out of memory")

    monkeypatch.setattr(Runner, "deltas", fails)
    with pytest.raises(errors.EngineFailed):
        scheduler_of(filled).executor.run(planned(filled, "low", "low"))
    assert len(ran) == 1

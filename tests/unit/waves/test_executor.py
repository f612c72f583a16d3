"""Waves as they run: their deltas, which run in one job, and what is recorded."""

from __future__ import annotations

import pytest

from tests.unit.inside import plan_of, scheduler_of
from tidings import Database
from tidings.waves import executor as executing
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
    monkeypatch.setattr(executing, "WAVES_PER_JOB", 2)
    executor = scheduler_of(filled).executor
    executor.run_all([(planned(filled, name, text), frozenset()) for name, text in TEXTS.items()])
    assert [record.together for record in executor.records] == [2, 2, 1]


def test_waves_with_steps_of_one_name_do_not_meet(filled: Database) -> None:
    executor = scheduler_of(filled).executor
    waves = [(planned(filled, "same", text), frozenset[str]()) for text in TEXTS.values()]
    assert [d["same"].num_rows for d in executor.run_all(waves)] == [1, 1, 1]
    assert [record.together for record in executor.records] == [1, 1, 1]

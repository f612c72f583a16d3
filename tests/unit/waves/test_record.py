"""The record of a wave as a line of text."""

from __future__ import annotations

from dataclasses import replace

from tidings.waves.record import WaveRecord

RECORD = WaveRecord(
    view="low",
    since=1,
    until=3,
    strategy="restricted differential",
    reason="about 10 rows to read",
    execution="in-process",
    why="small, and the engines agree on it",
    changes=1234,
    rows_read=10,
    rows=2,
    jobs=None,
    seconds={"plan": 0.001, "look up": 0.002, "finish": 0.0034},
)


def test_a_wave_in_process() -> None:
    assert str(RECORD) == (
        "low (1, 3]: 1,234 changes in, 2 out; restricted differential (about 10 rows to read); "
        "in-process (small, and the engines agree on it); plan 1 ms, look up 2 ms, finish 3 ms"
    )


def test_waves_that_ran_in_the_same_jobs() -> None:
    text = str(replace(RECORD, execution="spark", why="execution is spark", jobs=2, together=5))
    assert "; spark in 2 jobs with 4 others (execution is spark); " in text

"""What takes too long is stopped, and nothing else is."""

from __future__ import annotations

from threading import Event, active_count

import pytest

from tidings import watchdog as module
from tidings.watchdog import AGAIN, Watchdog


def test_what_is_in_time_is_not_stopped() -> None:
    stops: list[int] = []
    with Watchdog().limited(60.0, [lambda: stops.append(1)]) as limit:
        pass
    assert not limit.is_exceeded
    assert stops == []


def test_engines_are_asked_until_what_is_inside_has_ended() -> None:
    asked = Event()
    times: list[int] = []

    def stop() -> None:
        times.append(len(times))
        if len(times) == 4:
            asked.set()

    with Watchdog().limited(0.0, [stop, stop]) as limit:
        assert asked.wait(10)
        assert limit.is_exceeded
    ended = len(times)
    assert not Event().wait(3 * AGAIN)
    assert len(times) == ended


def test_a_shorter_limit_comes_in_between() -> None:
    watchdog, asked = Watchdog(), Event()
    with watchdog.limited(60.0, []) as outer, watchdog.limited(0.01, [asked.set]) as inner:
        assert asked.wait(10)
    assert inner.is_exceeded
    assert not outer.is_exceeded


def test_one_thread_watches_and_ends_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE", 0.01)
    watchdog, before = Watchdog(), active_count()
    with watchdog.limited(60.0, []), watchdog.limited(60.0, []):
        assert active_count() == before + 1
    asked = Event()
    for _ in range(3):
        assert not Event().wait(0.1)
        with watchdog.limited(0.0, [asked.set]):
            assert asked.wait(10)
        asked.clear()

"""What takes too long is stopped, and nothing else is."""

from __future__ import annotations

from threading import Event

from tidings.waves.time_limit import AGAIN, TimeLimit


def test_what_is_in_time_is_not_stopped() -> None:
    stops: list[int] = []
    with TimeLimit(60.0, [lambda: stops.append(1)]) as limit:
        pass
    assert not limit.is_exceeded
    assert stops == []


def test_engines_are_asked_until_what_is_inside_has_ended() -> None:
    asked = Event()
    times: list[int] = []

    def stop() -> None:
        times.append(len(times))
        if len(times) == 2:
            asked.set()

    with TimeLimit(0.0, [stop, stop]) as limit:
        assert asked.wait(10)
        assert limit.is_exceeded
    ended = len(times)
    assert not Event().wait(3 * AGAIN)
    assert len(times) == ended

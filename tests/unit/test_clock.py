"""Instants as microseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tidings import ManualClock
from tidings.clock import SystemClock, instant, micros


def test_a_manual_clock_stands_still() -> None:
    clock = ManualClock(5)
    assert [clock.now(), clock.now()] == [5, 5]
    assert clock.set(3) == 3
    assert clock.advance(timedelta(milliseconds=2)) == clock.now() == 2003
    assert clock.set(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000_000


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1), 0),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), -1),
        (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), 1767225600000001),
    ],
)
def test_micros(when: datetime, expected: int) -> None:
    assert micros(when) == expected
    assert micros(instant(expected)) == expected


def test_the_system_clock_tells_utc() -> None:
    before = micros(datetime.now(UTC))
    assert before <= SystemClock().now() <= micros(datetime.now(UTC))


def test_a_manual_clock_tells_when_it_is_moved() -> None:
    clock, moves = ManualClock(5), list[int]()

    def listener() -> None:
        moves.append(clock.now())

    clock.listen(listener)
    clock.listen(listener)
    clock.advance(timedelta(microseconds=1))
    clock.set(10)
    clock.unlisten(listener)
    clock.unlisten(listener)
    clock.set(20)
    assert moves == [6, 10]

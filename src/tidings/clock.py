"""Where commit times come from, and instants as users give them: microseconds since the epoch."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from tidings.errors import ClockTooFarAhead, InvalidInstant
from tidings.errors.arguments import checked


class Clock(Protocol):
    """Gives the time; any object with such a method is a clock."""

    def now(self) -> int:
        """Microseconds since the epoch."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1000


class ManualClock:
    """A clock that stands still until it is moved; for tests, demos and replays.

    >>> clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock.advance(timedelta(seconds=1)) - clock.start
    1000000
    """

    def __init__(self, start: datetime | date | int | str = 0) -> None:
        self.start = instant_of(start)
        self._now = self.start
        self._listeners: list[Callable[[], None]] = []

    def now(self) -> int:
        return self._now

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a function called after every move of the clock."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Have a function that listens not called any more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def set(self, to: datetime | date | int | str) -> int:
        """Move the clock to an instant; returns it in microseconds."""
        self._now = instant_of(to)
        for listener in tuple(self._listeners):
            listener()
        return self._now

    @checked
    def advance(self, by: timedelta) -> int:
        """Move the clock on; returns the new time in microseconds."""
        return self.set(self._now + by // timedelta(microseconds=1))


_SET = 946_684_800_000_000
"""The year 2000: clocks that are behind it were never set, and may step forward as far as they like."""


class BoundedClock:
    """A clock whose readings are refused where they lie far after the latest instant that is known to have been.

    A commit at a time that is wrong would stay in the timeline for ever: all later ones come after it.

    >>> source = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    >>> clock = BoundedClock(source, timedelta(days=366))
    >>> clock.now() == source.now(), clock.know(source.set(datetime(2126, 1, 1)))
    (True, None)
    """

    def __init__(self, source: Clock, max_step: timedelta | None = None) -> None:
        self.source = source
        self.max_step = max_step
        self._step = None if max_step is None else max_step // timedelta(microseconds=1)
        self._known = 0

    def now(self) -> int:
        """What the clock reads; refused if it cannot be true."""
        reading = self.source.now()
        if reading > self._known:
            if self._step is not None and _SET <= self._known < reading - self._step:
                raise ClockTooFarAhead(reading=_shown(reading), known=_shown(self._known), step=str(self.max_step))
            self._known = reading
        return reading

    def know(self, instant: int) -> None:
        """Take an instant to have been."""
        self._known = max(self._known, instant)

    def accept(self) -> int:
        """Take what the clock reads now to be true; returns it."""
        reading = self.source.now()
        self.know(reading)
        return reading


def _shown(time: int) -> str:
    try:
        return str(instant(time))
    except OverflowError:
        return f"{time} µs"


def micros(instant: datetime | date | int | str) -> int:
    """An instant as microseconds since the epoch; without a time zone it is read as UTC.

    >>> micros(datetime(1970, 1, 1, 0, 0, 1)), micros("1970-01-02")
    (1000000, 86400000000)
    """
    if not isinstance(instant, datetime):
        return instant_of(instant)
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def instant(time: int) -> datetime:
    """Microseconds since the epoch as an instant in UTC.

    >>> instant(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)


def instant_of(value: object) -> int:
    """What a user gives as an instant, as microseconds since the epoch; without a time zone it is in UTC.

    >>> instant_of("1970-01-02"), instant_of("1970-01-01T00:00:01+00:00"), instant_of(7)
    (86400000000, 1000000, 7)
    """
    match value:
        case bool():
            pass
        case int():
            return value
        case datetime():
            return micros(value)
        case date():
            return micros(datetime(value.year, value.month, value.day, tzinfo=UTC))
        case str():
            try:
                return micros(datetime.fromisoformat(value.strip()))
            except ValueError:
                pass
    raise InvalidInstant(value=repr(value)[:100])

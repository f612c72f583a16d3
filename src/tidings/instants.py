"""Instants as users give them: microseconds, datetimes, dates, and texts in the form of ISO 8601."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tidings.clock import micros
from tidings.errors import InvalidInstant


def instant_of(value: object) -> int:
    """An instant as microseconds since the epoch; without a time zone it is in UTC.

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

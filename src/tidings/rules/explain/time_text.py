"""Intervals and instants as people write them."""

from __future__ import annotations

from tidings.clock import instant
from tidings.lang.sql.statements.token_reader import UNITS


def interval_text(microseconds: int) -> str:
    """An interval in the largest unit that fits.

    >>> interval_text(300_000_000), interval_text(3_600_000_000), interval_text(1500)
    ('5 minutes', '1 hour', '1500 microseconds')
    """
    size, name = max((size, name) for name, size in UNITS.items() if microseconds % size == 0)
    number = microseconds // size
    return f"{number} {name.lower()}{'' if number == 1 else 's'}"


def instant_text(microseconds: int) -> str:
    """An instant in UTC.

    >>> instant_text(0)
    '1970-01-01 00:00:00'
    """
    return instant(microseconds).replace(tzinfo=None).isoformat(" ")

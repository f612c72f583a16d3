"""A range of a column that holds every row with an instant in the batch."""

from __future__ import annotations

import pytest

from tidings.analysis.time_range import DAY, time_range
from tidings.ir.expression import read, show

TYPES = {("m", "at"): "timestamp", ("m", "d"): "date", ("m", "n"): "int"}


def ranged(instant: str) -> list[str]:
    return [show(c) for c in time_range(read(instant), TYPES)]


@pytest.mark.parametrize(
    ("instant", "lag"),
    [
        ("UNIX_MICROS(m.at)", 0),
        ("UNIX_MICROS(CAST(m.at AS TIMESTAMP)) + 1", 1),
        ("UNIX_MICROS(TRY_CAST(m.at + INTERVAL '14' DAYS AS TIMESTAMP))", 14 * DAY),
        ("UNIX_MICROS(m.at - (INTERVAL '2' HOURS))", -2 * 3_600_000_000),
        ("UNIX_MICROS(m.at + INTERVAL '-1' WEEK)", -7 * DAY),
        ("UNIX_MICROS((m.at + INTERVAL '1' DAY) - INTERVAL '1' SECOND)", DAY - 1_000_000),
    ],
)
def test_a_column_that_an_instant_follows(instant: str, lag: int) -> None:
    """The range is a day wider on both sides, for casts between days and moments."""
    low, high = (abs(n) for n in (lag + DAY, DAY - lag))
    below, above = ("" if n >= 0 else "-" for n in (lag + DAY, DAY - lag))
    assert ranged(instant) == [
        f"m.at >= TIMESTAMP_MICROS(__SINCE() - {below}{low})",
        f"m.at <= TIMESTAMP_MICROS(__UNTIL() + {above}{high})",
    ]


def test_a_date_is_compared_with_dates() -> None:
    assert ranged("UNIX_MICROS(CAST(m.d AS TIMESTAMP))") == [
        f"m.d >= CAST(TIMESTAMP_MICROS(__SINCE() - {DAY}) AS DATE)",
        f"m.d <= CAST(TIMESTAMP_MICROS(__UNTIL() + {DAY}) AS DATE)",
    ]


@pytest.mark.parametrize(
    "instant",
    [
        "UNIX_MICROS(m.at + INTERVAL '1' MONTH)",
        "UNIX_MICROS(m.at + INTERVAL '0.5' DAY)",
        "UNIX_MICROS(m.at + INTERVAL '1 day 2 hours')",
        "UNIX_MICROS(m.at + m.n * INTERVAL '1' DAY)",
        "UNIX_MICROS(GREATEST(m.at, m.d))",
        "UNIX_MICROS(INTERVAL '1' DAY + m.at)",
        "UNIX_MICROS(CAST(m.n AS TIMESTAMP))",
        "UNIX_MICROS(TIMESTAMP '2026-01-01')",
    ],
)
def test_no_range_where_the_distance_is_not_constant(instant: str) -> None:
    assert ranged(instant) == []

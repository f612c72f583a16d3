"""When continuous queries run, and how load is shed.

The answers of a query do not depend on when it runs.  So a batch that takes long is no loss: where it took more than
half of a query's interval, the query runs at every second tick from then on, then at every fourth, and so on; where it
takes little, the interval becomes what it was, step by step.  A query on every commit needs no such thing: whoever
advances in the background rests as long as it worked.
"""

from __future__ import annotations

from typing import assert_never

from tidings.lang.sql.statements.continuous import EveryInterval, EveryTick, OnCommit, OnRequest, Schedule
from tidings.rules.event.occurrence import next_cron_tick

WIDEST = 64
"""No interval is widened by more than this."""


def next_due(schedule: Schedule, after: int, widened: int = 1) -> int | None:
    """The first instant after another at which a query is to run; None if it does not run at instants of its own.

    >>> [next_due(EveryInterval(10), 25, widened) for widened in (1, 2, 4)]
    [30, 40, 40]
    """
    match schedule:
        case EveryInterval(interval=interval):
            step = interval * widened
            return (after // step + 1) * step
        case EveryTick(cron=cron):
            for _ in range(widened):
                after = next_cron_tick(cron, after)
            return after
        case OnCommit() | OnRequest():
            return None
        case _:
            assert_never(schedule)


def widening(schedule: Schedule, widened: int, ran: int, took: int) -> int:
    """By how much an interval is to be widened after a batch at an instant that took so many microseconds.

    >>> [widening(EveryInterval(1000), 2, 0, took) for took in (1001, 600, 200)]
    [4, 2, 1]
    """
    due = next_due(schedule, ran, widened)
    if due is None:
        return 1
    interval = interval_of(schedule, ran) * widened
    if took * 2 > interval:
        return min(widened * 2, WIDEST)
    return max(widened // 2, 1) if took * 8 <= interval else widened


def interval_of(schedule: Schedule, at: int) -> int:
    """How far two runs are apart after an instant, unless load is shed; 0 if it has no instants of its own."""
    first = next_due(schedule, at)
    if first is None:
        return 0
    second = next_due(schedule, first)
    assert second is not None
    return second - first


def schedule_text(schedule: Schedule) -> str:
    """A schedule in words.

    >>> schedule_text(EveryInterval(90_000_000)), schedule_text(EveryTick("0 8 * * *")), schedule_text(OnCommit())
    ('every 90 seconds', 'every 0 8 * * *', 'on commit')
    """
    match schedule:
        case EveryInterval(interval=interval):
            return f"every {interval / 1_000_000:g} seconds"
        case EveryTick(cron=cron):
            return f"every {cron}"
        case OnCommit():
            return "on commit"
        case OnRequest():
            return "manual"
        case _:
            assert_never(schedule)

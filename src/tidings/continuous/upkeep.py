"""Knows when continuous queries have something to do although nothing is committed, and whether one fails."""

from __future__ import annotations

from tidings.continuous.runs import ContinuousRuns
from tidings.lang.sql.statements.continuous import OnCommit
from tidings.rules.detached.deadlines import earliest


def next_run(runs: ContinuousRuns, after: int, tick: int) -> int | None:
    """The first instant after another at which a continuous query is to run; None if there is none.

    ``tick`` is the time between two looks at queries on every commit that read the clock.
    """
    registry = runs.registry
    if not registry.records:
        return None
    ticks = [after + tick for q in registry.queries() if isinstance(q.schedule, OnCommit) and q.reads_clock]
    return earliest(*(record.due for record in registry.records), *ticks)


def is_failing(runs: ContinuousRuns) -> bool:
    """Whether a query on every commit fails, and is tried again by whoever advances next."""
    failing = {record.id for record in runs.registry.records if record.error is not None}
    return bool(failing) and any(isinstance(q.schedule, OnCommit) and q.id in failing for q in runs.registry.queries())

"""The record of a wave: where it ran and why, what it read, what came out, and where its time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidings.waves.strategy import Estimate, shown


class StoppedWave(NamedTuple):
    """A wave that was stopped for having taken too long, and then run the other way."""

    strategy: str
    execution: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.strategy} on {self.execution} stopped after {shown(self.seconds)}"


@dataclass(slots=True)
class WaveTotal:
    """What all waves of one kind took since the database was opened."""

    waves: int = 0
    seconds: float = 0.0
    changes: int = 0
    rows_read: int = 0


@dataclass(frozen=True, slots=True)
class WaveRecord:
    """One wave for one query or stored view over ``(since, until]``."""

    view: str
    since: int
    until: int
    strategy: str
    reason: str
    """Why this strategy: what was estimated for it and for the others."""
    execution: str
    """``spark``, ``duckdb``, or ``in-process`` for a wave of a Spark database that was finished in this process."""
    why: str
    """Why it ran there."""
    changes: int
    """Changed rows that went in."""
    rows_read: int
    """Rows of states: those looked up if it ran in-process, else the estimate."""
    rows: int
    """Changed rows that came out."""
    jobs: int | None
    """Spark jobs it took; None where they cannot be counted, as with Spark Connect."""
    seconds: Mapping[str, float]
    """By stage: ``plan``, then ``look up`` and ``finish`` in-process, or ``run``."""
    together: int = 1
    """So many waves ran in the same jobs; each has its share of their time."""
    differential: Estimate | None = None
    """What a differential was estimated to take: seconds, engine and rows of states."""
    recompute: Estimate | None = None
    """The same for a recompute; None where there is none."""
    stopped: StoppedWave | None = None
    """What was tried first and stopped, because it took far longer than estimated."""
    in_transaction: bool = False
    """Whether it judged the condition of a rule, or a view below one, inside a transaction."""

    def facts(self) -> dict[str, object]:
        """What is told of it to logs: names and numbers."""
        names = "view since until strategy execution changes rows_read rows jobs together in_transaction".split()
        return {name: getattr(self, name) for name in names} | {"seconds": sum(self.seconds.values())}

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in self.seconds.items())
        jobs = "" if self.jobs is None else f" in {self.jobs} jobs"
        jobs += "" if self.together == 1 else f" with {self.together - 1} others"
        stopped = "" if self.stopped is None else f"; {self.stopped}"
        return (
            f"{self.view} ({self.since}, {self.until}]: {self.changes:,} changes in, {self.rows:,} out; "
            f"{self.strategy} ({self.reason}); {self.execution}{jobs} ({self.why}); {stages}{stopped}"
        )

"""How fast the engines are: usual speeds, and a short trial that says how this machine compares.

The usual speeds are those of two cores.  They were fitted to the 22 views of TPC-H at scale 1.  On Spark what a query
makes of a million rows takes from a tenth of a second to one, so that speed is rough.  So are the times of the trial
that stand beside them.  The trial is two statements that read no table: one that does next to nothing, and one that
groups rows the engine makes itself.  The shortest of a few runs counts; there is a bound to the time for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from tidings.delta.cost import Speeds

RUNS = 3
"""Each statement of the trial is run so often …"""
ENOUGH = 0.5
"""… unless its runs have taken so many seconds together."""

FARTHEST = 10.0
"""A machine is taken to be at most so many times faster or slower than the usual one."""

NOTHING = "SELECT 1 AS one"
GROUPED = "SELECT id % 1000 AS part, count(*) AS n FROM range(0, 2000000) AS numbers(id) GROUP BY id % 1000"


@dataclass(frozen=True, slots=True)
class Trial:
    """What the two statements of the trial took, in seconds."""

    nothing: float
    grouped: float


@dataclass(frozen=True, slots=True)
class UsualSpeeds:
    """The speeds of an engine, and what the trial takes where they are right."""

    speeds: Speeds
    trial: Trial

    def here(self, trial: Trial) -> Speeds:
        """The speeds on a machine on which the trial took something else."""
        usual, fixed = self.speeds, _ratio(trial.nothing, self.trial.nothing)
        rows = _ratio(trial.grouped, self.trial.grouped)
        return Speeds(
            statement=usual.statement * fixed,
            operator=usual.operator * fixed,
            scanned=usual.scanned * rows,
            found=usual.found * rows,
            whole=usual.whole * rows,
            large_statement=usual.large_statement * fixed,
        )


SPARK = UsualSpeeds(
    Speeds(statement=0.11, operator=0.005, scanned=0.08, found=3.0, whole=0.3, large_statement=0.35),
    Trial(nothing=0.03, grouped=0.15),
)
DUCKDB = UsualSpeeds(
    Speeds(statement=0.002, operator=0.0002, scanned=0.035, found=0.4, whole=0.15, large_statement=0.002),
    Trial(nothing=0.0002, grouped=0.03),
)


def tried(run: Callable[[str], object]) -> Trial:
    """The trial, by a function that runs a statement and fetches its rows."""
    return Trial(_shortest(run, NOTHING), _shortest(run, GROUPED))


def _shortest(run: Callable[[str], object], text: str) -> float:
    times: list[float] = []
    while len(times) < RUNS and sum(times) < ENOUGH:
        begun = perf_counter()
        run(text)
        times.append(perf_counter() - begun)
    return min(times)


def _ratio(here: float, usual: float) -> float:
    return min(max(here / usual, 1 / FARTHEST), FARTHEST)

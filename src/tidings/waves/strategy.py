"""Chooses the strategy by which a view is brought up to date over a batch, and says why.

- *no-op*: nothing it reads has changed;
- *restricted differential*: the delta program, whose reads of old states are cut down to the keys that changed;
- *stored-aggregate merge*: stored groupings are updated from their old rows and the changes alone;
- *recompute and diff*: both states in full.

The one that takes the fewest seconds on the engine that would run it wins, by estimate
(:mod:`tidings.waves.estimates`).  A differential wins a tie, and where a recompute would save less than
:data:`MARGIN`.  Where a recompute would be refused, it has to read fewer rows: what jobs and plans cost forces none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidings.errors import RecomputeRefused

MARGIN = 0.02
"""Seconds that a recompute must save; estimates are not more exact than that."""


class Strategy(Enum):
    """How a batch is processed."""

    NOTHING = "no-op"
    DIFFERENTIAL = "restricted differential"
    MERGE = "stored-aggregate merge"
    RECOMPUTE = "recompute and diff"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a strategy would take: how long, on which engine, and about how many rows of states it reads."""

    seconds: float
    execution: str
    rows: int
    row_seconds: float = 0.0
    """The seconds that are due to rows."""

    def __str__(self) -> str:
        return f"{shown(self.seconds)} on {self.execution}, {self.rows:,} rows"


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy for one view and batch, and the estimates it was chosen by."""

    strategy: Strategy
    reason: str
    differential: Estimate | None = None
    recompute: Estimate | None = None
    """None where there is none."""
    forced_by: str = ""

    def __str__(self) -> str:
        return f"{self.strategy.value}: {self.reason}"

    @property
    def estimate(self) -> Estimate | None:
        """The estimate for what was chosen."""
        return self.recompute if self.strategy is Strategy.RECOMPUTE else self.differential

    @property
    def other(self) -> Choice | None:
        """The choice of the other way, for its own sake; None if there is none."""
        if self.strategy is Strategy.NOTHING or self.recompute is None:
            return None
        if self.strategy is Strategy.RECOMPUTE:
            return Choice(Strategy.DIFFERENTIAL, f"about {self.differential}", self.differential, self.recompute)
        return Choice(Strategy.RECOMPUTE, f"about {self.recompute}", self.differential, self.recompute)

    @property
    def other_estimate(self) -> Estimate | None:
        """The estimate for the other way; None if there is none."""
        if self.strategy is Strategy.NOTHING or self.recompute is None:
            return None
        return self.differential if self.strategy is Strategy.RECOMPUTE else self.recompute

    @property
    def rows(self) -> int:
        """About how many rows of states it reads."""
        return 0 if self.estimate is None else self.estimate.rows

    def require_incremental(self, view: str) -> None:
        """Refuse to recompute, and say what would have forced it."""
        if self.strategy is Strategy.RECOMPUTE:
            raise RecomputeRefused(view=view, operator=self.forced_by)


NO_OP = Choice(Strategy.NOTHING, "nothing it reads has changed")


def choose(
    differential: Estimate,
    recompute: Estimate | None,
    *,
    merges: bool,
    keyless: tuple[str, ...] = (),
    strict: bool = False,
    only: Strategy | None = None,
) -> Choice:
    """The strategy for a batch that changes something a view reads.

    ``keyless`` is what the differential reads whole.  Without an estimate for it there is no recompute: where time
    matters by itself, it would have to be done at every instant there is.
    """
    reason = f"about {differential}"
    if recompute is not None:
        if only is Strategy.RECOMPUTE or (only is None and _is_faster(recompute, differential, strict=strict)):
            cause = _cause(differential, keyless, strict=strict)
            reason = f"about {recompute}; a differential would take {differential}, because of {cause}"
            return Choice(Strategy.RECOMPUTE, reason, differential, recompute, cause)
        reason += f"; a recompute would take {recompute}"
    if keyless:
        reason += f"; read whole because of {' and '.join(keyless)}"
    return Choice(Strategy.MERGE if merges else Strategy.DIFFERENTIAL, reason, differential, recompute)


def _is_faster(recompute: Estimate, differential: Estimate, *, strict: bool) -> bool:
    if strict:
        return recompute.rows < differential.rows
    return recompute.seconds + MARGIN < differential.seconds


def _cause(differential: Estimate, keyless: tuple[str, ...], *, strict: bool) -> str:
    """What makes a differential slow."""
    if not strict and differential.row_seconds < differential.seconds / 2:
        return "the size of its plan"
    return " and ".join(keyless) or "the size of the change"


def shown(seconds: float) -> str:
    """Seconds for people.

    >>> [shown(s) for s in (0.00012, 0.0123, 0.45, 3.21, 321.4)]
    ['0.12 ms', '12 ms', '450 ms', '3.2 s', '321 s']
    """
    number, unit = (seconds * 1000, "ms") if seconds < 1 else (seconds, "s")
    digits = 2 if number < 1 else 1 if number < 10 else 0
    return f"{number:.{digits}f} {unit}"

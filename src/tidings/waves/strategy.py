"""Chooses the strategy by which a view is brought up to date over a batch, and says why.

- *no-op*: nothing it reads has changed;
- *restricted differential*: the delta program, whose reads of old states are cut down to the keys that changed;
- *stored-aggregate merge*: stored groupings are updated from their old rows and the changes alone;
- *recompute and diff*: both states in full.

The one that reads the fewest rows of states wins, by estimate (:mod:`tidings.delta.cost`); a differential wins a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidings.delta.cost import Sizes, estimate, fixed_costs
from tidings.delta.plan import Program
from tidings.errors import RecomputeRefused


class Strategy(Enum):
    """How a batch is processed."""

    NOTHING = "no-op"
    DIFFERENTIAL = "restricted differential"
    MERGE = "stored-aggregate merge"
    RECOMPUTE = "recompute and diff"


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy for one view and batch, and about how many rows of states it reads."""

    strategy: Strategy
    reason: str
    rows: int
    forced_by: str = ""

    def __str__(self) -> str:
        return f"{self.strategy.value}: {self.reason}"

    def require_incremental(self, view: str) -> None:
        """Refuse to recompute, and say what would have forced it."""
        if self.strategy is Strategy.RECOMPUTE:
            raise RecomputeRefused(view=view, operator=self.forced_by)


def choose(
    differential: Program,
    recompute: Program | None,
    merged: frozenset[str],
    sizes: Sizes,
    *,
    net: bool,
    only: Strategy | None = None,
) -> Choice:
    """The strategy for a batch; with ``net`` only what lies between its ends is asked for.

    Where time matters by itself there is no recompute: it would have to be done at every instant there is.
    """
    if not differential.steps:
        return Choice(Strategy.NOTHING, "nothing it reads has changed", 0)
    rows = estimate(differential, sizes)
    keyless = tuple(dict.fromkeys(k for s in differential.steps for k in s.keyless))
    reason = f"about {rows:,} rows to read"
    if recompute is not None:
        whole = estimate(recompute, sizes) * (1 if net else max(1, sizes.instants))
        if only is Strategy.RECOMPUTE or (rows + fixed_costs(differential, sizes) > whole and only is None):
            forced_by = " and ".join(keyless) or "the size of the change"
            reason = f"about {whole:,} rows to read; a differential would read {rows:,}, because of {forced_by}"
            return Choice(Strategy.RECOMPUTE, reason, whole, forced_by)
        reason += f"; a recompute would read {whole:,}"
    if keyless:
        reason += f"; read whole because of {' and '.join(keyless)}"
    merges = merged & {s.name for s in differential.steps}
    return Choice(Strategy.MERGE if merges else Strategy.DIFFERENTIAL, reason, rows)

"""Whether the rows of a recursion are stored or derived on demand, where nobody has declared it: by cost.

Storing derives all rows once and costs their space; on demand derives old rows again with every change, and all of them
with every read.  Nobody knows what will be asked.  So a recursion is on demand until the rows it has derived again are
as many as storing it takes: then it would have cost no more to store it at the beginning, and at no time has it cost
more than twice of the better choice.  Costs are counted in rows derived.

How many rows there are is known once they have been evaluated.  Before that it is estimated: as many for each row of
the inputs as a changed row of these has changed so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidings.engine.recursion.evaluations import Evaluations

AT_LEAST = 1_000
"""Until so many rows have been derived again nothing is stored."""

MOST_ROWS = 20_000_000
"""More rows than this are stored only where that is declared."""


class StorageChoice(NamedTuple):
    """Whether rows are worth storing, and why."""

    stored: bool
    reason: str


@dataclass(slots=True)
class RecursionCosts:
    """What a recursion has taken on demand so far, in rows."""

    waves: int = 0
    changed: int = 0
    """Changes of its inputs."""
    told: int = 0
    """Changes of its own rows."""
    derived: int = 0
    """Old rows that were derived again."""

    def add(self, changed: int, told: int, derived: int) -> None:
        """Count one wave."""
        self.waves += 1
        self.changed, self.told, self.derived = self.changed + changed, self.told + told, self.derived + derived

    def choice(self, input_rows: int, evaluations: Evaluations) -> StorageChoice:
        """Whether storing is worth it by now.

        >>> RecursionCosts(waves=3, changed=3, told=9, derived=40).choice(10_000, Evaluations()).reason
        '40 rows derived again in 3 waves and 0 reads; storing would derive about 30,000 once'
        >>> RecursionCosts(waves=3, changed=3, told=9, derived=4_000).choice(1_000, Evaluations()).stored
        True
        """
        if evaluations.times:
            whole = evaluations.rows // evaluations.times
        else:
            whole = int(input_rows * max(1.0, self.told / max(1, self.changed)))
        spent = self.derived + evaluations.rows + evaluations.some
        reason = (
            f"{spent:,} rows derived again in {self.waves:,} waves and {evaluations.times:,} reads; "
            f"storing would derive about {whole:,} once"
        )
        return StorageChoice(max(whole, AT_LEAST) <= spent and whole <= MOST_ROWS, reason)

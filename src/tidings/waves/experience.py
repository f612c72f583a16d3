"""What earlier waves of a view took, against what was estimated for them: a factor for its next estimates.

Estimates know the sizes of relations and not how their rows meet.  So for each view, strategy and engine the ratio of
actual to estimated seconds is kept, as a mean in which a new wave counts for :data:`NEWEST`.  What was not tried for a
while fades by :data:`FADING` with each wave that ran another way.  A wave counts for no more than a factor of
:data:`BOUND` either way.  One that was estimated to be short and was not very long does not count: that is noise, and
matters little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

SHORT, LONG = 0.25, 2.0
"""Seconds: a wave counts that was estimated to take more than the first, or took more than the second."""
NEWEST = 0.5
FADING = 0.9
BOUND = 8.0


class Way(NamedTuple):
    """A way to bring a view up to date."""

    recompute: bool
    execution: str


@dataclass(slots=True)
class Experience:
    """What the waves of one database took.

    >>> experience, way = Experience(), Way(recompute=True, execution="spark")
    >>> experience.learn("low", way, estimated=1.0, actual=4.0)
    >>> experience.factor("low", way), experience.factor("high", way)
    (2.0, 1.0)
    """

    _factors: dict[str, dict[Way, float]] = field(init=False, default_factory=dict)

    def factor(self, view: str, way: Way) -> float:
        """By how much to multiply an estimate."""
        return self._factors.get(view, {}).get(way, 1.0)

    def learn(self, view: str, way: Way, *, estimated: float, actual: float) -> None:
        """Take in what a wave took; ``estimated`` has the present factor in it."""
        if estimated < SHORT and actual < LONG:
            return
        factors = self._factors.setdefault(view, {})
        for other in factors.keys() - {way}:
            factors[other] **= FADING
        factors[way] = _bounded(self.factor(view, way) * _bounded(actual / max(estimated, 1e-6)) ** NEWEST)


def _bounded(factor: float) -> float:
    return min(max(factor, 1 / BOUND), BOUND)

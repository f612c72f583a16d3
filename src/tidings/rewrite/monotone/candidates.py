"""The instants at which rows may begin or cease to exist that satisfy an alternative.

``NOT EXISTS`` can become true only at such an instant: when a row of the inner tables reaches its upper bound, or when
a nested ``NOT EXISTS`` becomes false.  A query cannot quantify over time, but over the rows that have these instants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidings.ir.expression import Expression
from tidings.ir.standard_form import Alternative, Instant, TableUse

Latest = tuple[Instant, ...]
"""The last of these instants."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Rows, and the instant at which something changes with them."""

    tables: tuple[TableUse, ...]
    plain: tuple[Expression, ...]
    at: Latest
    ordered: tuple[tuple[Instant, Latest], ...] = ()
    """Pairs of which the first is not after the second."""

    def within(self, around: Alternative, held_before: bool) -> Candidate:
        """The same for rows of an alternative, which all other terms of it allow; or did, just before."""
        shift = 1 if held_before else 0
        lower = tuple((bound.later(shift), self.at) for bound in around.lower)
        upper = tuple((at.later(-shift), (bound,)) for at in self.at for bound in around.upper)
        return replace(
            self,
            tables=around.tables + self.tables,
            plain=around.plain + self.plain,
            ordered=lower + upper + self.ordered,
        )


def falls(alternative: Alternative) -> Iterator[Candidate]:
    """The instants at which rows may cease to satisfy an alternative."""
    for n, bound in enumerate(alternative.upper):
        others = alternative.upper[:n] + alternative.upper[n + 1 :]
        lower = tuple((low, (bound,)) for low in alternative.lower)
        upper = tuple((bound, (other,)) for other in others)
        yield Candidate(alternative.tables, alternative.plain, (bound.later(),), lower + upper)
    for absent in alternative.absent:
        for candidate in rises(absent):
            yield candidate.within(alternative, held_before=True)


def rises(alternative: Alternative) -> Iterator[Candidate]:
    """The instants at which rows may begin to satisfy an alternative."""
    bounds = tuple((low, (high,)) for low in alternative.lower for high in alternative.upper)
    yield Candidate(alternative.tables, alternative.plain, alternative.lower, bounds)
    for absent in alternative.absent:
        for candidate in falls(absent):
            yield candidate.within(alternative, held_before=False)

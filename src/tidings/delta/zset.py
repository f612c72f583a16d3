"""Z-sets: bags whose multiplicities may be negative, the values that deltas are.

The engines compute deltas; this is their plain form in Python, for small ones and for proofs.  Addition is the
whole algebra: the state after a change is the state before it plus the delta.  What cancels is gone, so the sum of
the changes of a transaction is its net effect.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

Row = TypeVar("Row", bound=Hashable)


class ZSet(Generic[Row]):
    """A finite map from rows to multiplicities, none of them zero.

    >>> stock = ZSet({"a": 1})
    >>> stock + ZSet({"a": -1, "b": 2})
    ZSet({'b': 2})
    """

    __slots__ = ("_weights",)

    def __init__(self, weights: Mapping[Row, int] | Iterable[tuple[Row, int]] = ()) -> None:
        totals: dict[Row, int] = {}
        for row, weight in weights.items() if isinstance(weights, Mapping) else weights:
            totals[row] = totals.get(row, 0) + weight
        self._weights = {row: weight for row, weight in totals.items() if weight}

    @staticmethod
    def of(rows: Iterable[Row]) -> ZSet[Row]:
        """Each row as often as it is given."""
        return ZSet((row, 1) for row in rows)

    def items(self) -> Iterator[tuple[Row, int]]:
        return iter(self._weights.items())

    def weight(self, row: Row) -> int:
        return self._weights.get(row, 0)

    def __add__(self, other: ZSet[Row]) -> ZSet[Row]:
        return ZSet([*self.items(), *other.items()])

    def __neg__(self) -> ZSet[Row]:
        return ZSet((row, -weight) for row, weight in self.items())

    def __sub__(self, other: ZSet[Row]) -> ZSet[Row]:
        return self + -other

    def positive(self) -> ZSet[Row]:
        """What is there more often than not: Δ+."""
        return ZSet((row, weight) for row, weight in self.items() if weight > 0)

    def negative(self) -> ZSet[Row]:
        """What is missing, counted positively: Δ-."""
        return (-self).positive()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZSet) and self._weights == other._weights

    def __hash__(self) -> int:
        return hash(frozenset(self._weights.items()))

    def __bool__(self) -> bool:
        return bool(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __repr__(self) -> str:
        return f"ZSet({self._weights})"

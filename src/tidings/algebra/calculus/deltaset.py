"""Delta-sets: what a set gained and what it lost, and nothing that it did both.

    apply:             S_new = (S_old − Δ-S) ∪ Δ+S
    logical rollback:  S_old = (S_new ∪ Δ-S) − Δ+S
    delta-union:       A ∪Δ B = ⟨(A+ ∪ B+) − (A- ∪ B-), (A- ∪ B-) − (A+ ∪ B+)⟩

Rollback recovers the old state only from an exact delta-set.  One that claims too much, such as a tuple as new that
was there before, takes that tuple out of the past: see :func:`net`.

Trap: delta-union is not associative.  With a tuple on both sides in three operands,

    (+t ∪Δ -t) ∪Δ +t  =  +t      but      (+t ∪Δ +t) ∪Δ -t  =  nothing

Physical events of one tuple alternate, so folding them in order is right (:func:`accumulate`).  Differentials have
no order, so they are joined all at once (:func:`delta_union` takes any number).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate as running
from typing import TypeAlias

Row: TypeAlias = tuple[Hashable, ...]
RowSet: TypeAlias = frozenset[Row]


class Sign(Enum):
    """Which way a set changes."""

    PLUS = "+"
    MINUS = "-"

    @property
    def opposite(self) -> Sign:
        return Sign.MINUS if self is Sign.PLUS else Sign.PLUS


@dataclass(frozen=True, slots=True)
class DeltaSet:
    """The pair ⟨Δ+S, Δ-S⟩ of a set S; its parts share no tuple."""

    plus: RowSet = frozenset()
    minus: RowSet = frozenset()

    def __post_init__(self) -> None:
        if both := self.plus & self.minus:
            raise ValueError(f"a delta-set cannot hold {_rows(both)} as gained and as lost")

    @staticmethod
    def of(plus: Iterable[Row] = (), minus: Iterable[Row] = ()) -> DeltaSet:
        """The pair without the tuples that both parts name.

        >>> print(DeltaSet.of(plus={(1,), (2,)}, minus={(2,), (3,)}))
        ⟨{⟨1⟩}, {⟨3⟩}⟩
        """
        gained, lost = frozenset(plus), frozenset(minus)
        return DeltaSet(gained - lost, lost - gained)

    @staticmethod
    def between(old: Iterable[Row], new: Iterable[Row]) -> DeltaSet:
        """The exact difference of two states: Δ+S = S − S_old, Δ-S = S_old − S.

        >>> print(DeltaSet.between(old={(1,), (2,)}, new={(2,), (3,)}))
        ⟨{⟨3⟩}, {⟨1⟩}⟩
        """
        return DeltaSet.of(new, old)

    def part(self, sign: Sign) -> RowSet:
        return self.plus if sign is Sign.PLUS else self.minus

    def __invert__(self) -> DeltaSet:
        """The delta-set of the complement, Δ(~S) = ⟨Δ-S, Δ+S⟩; also the change that undoes this one."""
        return DeltaSet(self.minus, self.plus)

    def __bool__(self) -> bool:
        return bool(self.plus or self.minus)

    def __str__(self) -> str:
        return f"⟨{_rows(self.plus)}, {_rows(self.minus)}⟩"


def delta_union(*deltas: DeltaSet) -> DeltaSet:
    """All delta-sets in one; what some gain and others lose cancels.

    >>> print(delta_union(DeltaSet.of(plus={(1,), (2,)}), DeltaSet.of(plus={(3,)}, minus={(2,)})))
    ⟨{⟨1⟩, ⟨3⟩}, {}⟩
    """
    plus: RowSet = frozenset[Row]().union(*(d.plus for d in deltas))
    minus: RowSet = frozenset[Row]().union(*(d.minus for d in deltas))
    return DeltaSet.of(plus, minus)


def apply(old: Iterable[Row], delta: DeltaSet) -> RowSet:
    """The new state."""
    return (frozenset(old) - delta.minus) | delta.plus


def logical_rollback(new: Iterable[Row], delta: DeltaSet) -> RowSet:
    """The old state, which nobody kept.

    >>> sorted(logical_rollback({(1,), (3,)}, DeltaSet.of(plus={(3,)}, minus={(2,)})))
    [(1,), (2,)]
    """
    return (frozenset(new) | delta.minus) - delta.plus


def net(plus: Iterable[Row], minus: Iterable[Row], old: RowSet, new: RowSet) -> DeltaSet:
    """What of two claims is true: gained is what holds now and did not before, lost is the reverse.

    The filter of strict rules.  Claims may overlap and may be too large, never too small.

    >>> print(net({(1,), (2,)}, {(2,)}, old=frozenset({(1,)}), new=frozenset({(1,), (2,)})))
    ⟨{⟨2⟩}, {}⟩
    """
    return DeltaSet((frozenset(plus) & new) - old, (frozenset(minus) & old) - new)


@dataclass(frozen=True, slots=True)
class PhysicalEvent:
    """One line of the log: a tuple was put into a stored relation, or taken out of it."""

    sign: Sign
    relation: str
    row: Row

    def __str__(self) -> str:
        return f"{self.sign.value}{_row((self.relation, *self.row))}"


def accumulate(events: Iterable[PhysicalEvent], relation: str) -> tuple[DeltaSet, ...]:
    """The delta-set of a relation after each of its events; the last one is the net change.

    Each event must have changed the state: putting in what is there already is no event.

    >>> log = [PhysicalEvent(Sign.MINUS, "stock", ("a", 1)), PhysicalEvent(Sign.PLUS, "stock", ("a", 2))]
    >>> for delta in accumulate(log, "stock"):
    ...     print(delta)
    ⟨{}, {⟨a, 1⟩}⟩
    ⟨{⟨a, 2⟩}, {⟨a, 1⟩}⟩
    """
    single = (_single(e) for e in events if e.relation == relation)
    return tuple(running(single, delta_union))


def _single(event: PhysicalEvent) -> DeltaSet:
    rows: RowSet = frozenset({event.row})
    return DeltaSet(plus=rows) if event.sign is Sign.PLUS else DeltaSet(minus=rows)


def _rows(rows: RowSet) -> str:
    return "{" + ", ".join(_row(r) for r in sorted(rows, key=repr)) + "}"


def _row(row: Row) -> str:
    return "⟨" + ", ".join(map(str, row)) + "⟩"

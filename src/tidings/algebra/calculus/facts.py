"""Facts: the current state of each relation and its delta-set, and the value of an expression over them.

Updates are made in place, so only the new state is held.  The old one comes by logical rollback whenever an
expression reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from tidings.algebra.calculus.deltaset import DeltaSet, Row, RowSet, apply, logical_rollback
from tidings.algebra.calculus.expression import (
    DeltaMinus,
    DeltaPlus,
    Leaf,
    NaturalJoin,
    NewState,
    OldState,
    Projection,
    Selection,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
)
from tidings.errors import InexactDelta, InvalidExpression, UnknownRelation


@dataclass(frozen=True, slots=True)
class Facts:
    """New states by name, and delta-sets by name; a relation without a delta-set did not change.

    >>> facts = Facts({"q": frozenset({(1,), (2,)})}, {"q": DeltaSet.of(plus={(2,)}, minus={(3,)})})
    >>> sorted(facts.new("q")), sorted(facts.old("q"))
    ([(1,), (2,)], [(1,), (3,)])
    """

    states: Mapping[str, RowSet]
    deltas: Mapping[str, DeltaSet]

    def __post_init__(self) -> None:
        for name in self.states:
            widths = sorted({len(row) for rows in self._row_sets(name) for row in rows})
            if len(widths) > 1:
                raise InexactDelta(relation=name, reason=f"they are of {widths[0]} and of {widths[1]} values")

    @staticmethod
    def after(old: Mapping[str, Iterable[Row]], deltas: Mapping[str, DeltaSet]) -> Facts:
        """The facts once the changes are made to old states, which they must fit: Δ+ is new, and Δ- was there."""
        states = {name: frozenset(rows) for name, rows in old.items()}
        for name, delta in deltas.items():
            if name not in states:
                raise UnknownRelation(name=name)
            _check_exact(name, states[name], delta)
        return Facts({name: apply(rows, deltas.get(name, DeltaSet())) for name, rows in states.items()}, deltas)

    @staticmethod
    def between(old: Mapping[str, Iterable[Row]], new: Mapping[str, Iterable[Row]]) -> Facts:
        """The facts whose old and new states are these."""
        deltas = {name: DeltaSet.between(old[name], rows) for name, rows in new.items()}
        return Facts({name: frozenset(rows) for name, rows in new.items()}, deltas)

    def new(self, name: str) -> RowSet:
        if name not in self.states:
            raise UnknownRelation(name=name)
        return self.states[name]

    def delta(self, name: str) -> DeltaSet:
        return self.deltas.get(name, DeltaSet())

    def old(self, name: str) -> RowSet:
        return logical_rollback(self.new(name), self.delta(name))

    def check_width(self, leaf: Leaf) -> None:
        """Refuse a leaf that names more or fewer attributes than the rows of its relation have values."""
        row = next((row for rows in self._row_sets(leaf.name) for row in rows), None)
        if row is not None and len(row) != len(leaf.attributes):
            named = ", ".join(leaf.attributes)
            raise InvalidExpression(reason=f"{leaf.name} has rows of {len(row)} values, and its attributes are {named}")

    def _row_sets(self, name: str) -> tuple[RowSet, RowSet, RowSet]:
        delta = self.delta(name)
        return self.states.get(name, frozenset()), delta.plus, delta.minus


def _check_exact(name: str, old: RowSet, delta: DeltaSet) -> None:
    """Refuse a delta-set that claims as new what was there, or as gone what was not."""
    for rows, reason in ((delta.plus & old, "was there already"), (delta.minus - old, "was not there")):
        if rows:
            raise InexactDelta(relation=name, reason=f"{min(rows, key=repr)} {reason}")


def evaluate(node: SetExpression, facts: Facts) -> RowSet:
    """The set an expression stands for."""
    if isinstance(node, Leaf):
        facts.check_width(node)
    match node:
        case NewState():
            return facts.new(node.name)
        case OldState():
            return facts.old(node.name)
        case DeltaPlus():
            return facts.delta(node.name).plus
        case DeltaMinus():
            return facts.delta(node.name).minus
        case Selection():
            rows = evaluate(node.input, facts)
            return frozenset(r for r in rows if node.condition.evaluate(_named(node.attributes, r)))
        case Projection():
            named = (_named(node.input.attributes, r) for r in evaluate(node.input, facts))
            return frozenset(tuple(i.value.evaluate(n) for i in node.items) for n in named)
        case SetUnion():
            return evaluate(node.left, facts) | evaluate(node.right, facts)
        case SetDifference():
            return evaluate(node.left, facts) - evaluate(node.right, facts)
        case SetIntersection():
            return evaluate(node.left, facts) & evaluate(node.right, facts)
        case SetProduct():
            right = evaluate(node.right, facts)
            return frozenset(a + b for a in evaluate(node.left, facts) for b in right)
        case NaturalJoin():
            return _joined(node, evaluate(node.left, facts), evaluate(node.right, facts))
        case _:
            assert_never(node)


def _joined(node: NaturalJoin, left: RowSet, right: RowSet) -> RowSet:
    """A hash join on the shared attributes."""
    here = [node.left.attributes.index(a) for a in node.shared]
    there = [node.right.attributes.index(a) for a in node.shared]
    rest = [n for n, a in enumerate(node.right.attributes) if a not in node.shared]
    partners: dict[Row, list[Row]] = {}
    for row in right:
        partners.setdefault(_pick(row, there), []).append(_pick(row, rest))
    return frozenset(row + more for row in left for more in partners.get(_pick(row, here), ()))


def _pick(row: Row, places: list[int]) -> Row:
    return tuple(row[n] for n in places)


def _named(attributes: tuple[str, ...], row: Row) -> dict[str, Any]:
    return dict(zip(attributes, row, strict=True))

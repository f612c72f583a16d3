"""Set expressions: frozen data, checked when built, with the attributes of the result always answerable.

A leaf names a stored relation or a view and gives its places names, as an atom of a Horn clause does.  The same
relation may so be read twice under different variables:

    p(X, Z) ← edge(X, Y) ∧ edge(Y, Z)        join(relation("edge", "X", "Y"), relation("edge", "Y", "Z"))

Besides :class:`NewState`, the new state, there are leaves for the old state and for both parts of the delta-set.
Only differentials hold those; they are never differentiated again.

An expression is one of a closed union.  The total functions over it are :func:`tidings.algebra.calculus.text.show`,
:func:`tidings.algebra.calculus.facts.evaluate` and :func:`tidings.algebra.calculus.partial.partial`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from tidings.algebra.calculus.scalar import Scalar
from tidings.errors import DuplicateColumn, InvalidExpression, UnknownColumn


@dataclass(frozen=True, slots=True)
class _Leaf:
    name: str
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.attributes)


@dataclass(frozen=True, slots=True)
class NewState(_Leaf):
    """R: a stored relation or a view in its new state, which is the current one."""


@dataclass(frozen=True, slots=True)
class OldState(_Leaf):
    """R_old: its state before the transaction."""


@dataclass(frozen=True, slots=True)
class DeltaPlus(_Leaf):
    """Δ+R: what it gained."""


@dataclass(frozen=True, slots=True)
class DeltaMinus(_Leaf):
    """Δ-R: what it lost."""


@dataclass(frozen=True, slots=True)
class Selection:
    """σ: the tuples for which a condition holds."""

    input: SetExpression
    condition: Scalar

    def __post_init__(self) -> None:
        _check_known(self.condition, self.input.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.input.attributes


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a projection: its name and what it is computed from."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Projection:
    """π: tuples cut down to some attributes, computed ones among them; equal results are one."""

    input: SetExpression
    items: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        _check_distinct(self.attributes)
        for item in self.items:
            _check_known(item.value, self.input.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(i.name for i in self.items)


@dataclass(frozen=True, slots=True)
class _SameAttributes:
    left: SetExpression
    right: SetExpression

    def __post_init__(self) -> None:
        if self.left.attributes != self.right.attributes:
            both = " and ".join(", ".join(e.attributes) for e in (self.left, self.right))
            raise InvalidExpression(reason=f"{type(self).__name__} needs the same attributes on both sides: {both}")

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes


@dataclass(frozen=True, slots=True)
class SetUnion(_SameAttributes):
    """∪: the tuples of either side."""


@dataclass(frozen=True, slots=True)
class SetDifference(_SameAttributes):
    """−: the tuples of the left side that the right one does not have."""


@dataclass(frozen=True, slots=True)
class SetIntersection(_SameAttributes):
    """∩: the tuples of both sides."""


@dataclass(frozen=True, slots=True)
class SetProduct:
    """×: every combination; the sides share no attribute."""

    left: SetExpression
    right: SetExpression

    def __post_init__(self) -> None:
        _check_distinct(self.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes + self.right.attributes


@dataclass(frozen=True, slots=True)
class NaturalJoin:
    """⋈: combinations that agree on the attributes both sides have.  A join by another condition is σ over ×."""

    left: SetExpression
    right: SetExpression

    def __post_init__(self) -> None:
        if not self.shared:
            raise InvalidExpression(reason="a join needs an attribute that both sides have; else it is a product")

    @property
    def shared(self) -> tuple[str, ...]:
        """The attributes both sides have."""
        return tuple(a for a in self.left.attributes if a in self.right.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes + tuple(a for a in self.right.attributes if a not in self.shared)


Leaf: TypeAlias = NewState | OldState | DeltaPlus | DeltaMinus
SetExpression: TypeAlias = (
    Leaf | Selection | Projection | SetUnion | SetDifference | SetIntersection | SetProduct | NaturalJoin
)


def relation(name: str, *attributes: str) -> NewState:
    """A relation with names for its places."""
    return NewState(name, attributes)


def select(input: SetExpression, condition: str) -> Selection:
    """A selection by a condition in scalar syntax."""
    return Selection(input, Scalar(condition))


def project(input: SetExpression, *items: str) -> Projection:
    """A projection on attributes, or on ``name = expression``.

    >>> project(relation("line", "price", "pieces"), "total = price * pieces").attributes
    ('total',)
    """
    return Projection(input, tuple(map(_item, items)))


def join(first: SetExpression, *others: SetExpression) -> SetExpression:
    """The natural join of all, from the left."""
    return reduce(NaturalJoin, others, first)


def children(node: SetExpression) -> tuple[SetExpression, ...]:
    """The operands."""
    match node:
        case NewState() | OldState() | DeltaPlus() | DeltaMinus():
            return ()
        case Selection() | Projection():
            return (node.input,)
        case _:
            return (node.left, node.right)


def with_children(node: SetExpression, operands: tuple[SetExpression, ...]) -> SetExpression:
    """The same operator over other operands."""
    match node:
        case NewState() | OldState() | DeltaPlus() | DeltaMinus():
            return node
        case Selection():
            return Selection(operands[0], node.condition)
        case Projection():
            return Projection(operands[0], node.items)
        case _:
            return type(node)(operands[0], operands[1])


def _item(text: str) -> Attribute:
    name, sign, value = text.partition(" = ")
    return Attribute(name.strip(), Scalar(value if sign else name))


def _check_distinct(attributes: tuple[str, ...]) -> None:
    twice = next((a for n, a in enumerate(attributes) if a in attributes[:n]), None)
    if twice is not None:
        raise DuplicateColumn(name=twice)


def _check_known(scalar: Scalar, attributes: tuple[str, ...]) -> None:
    for name in sorted(scalar.attributes - set(attributes)):
        raise UnknownColumn(name=name)

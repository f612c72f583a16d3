"""Relational expressions: frozen data, checked when built, with the attributes of the result always answerable.

Relations are sets.  Attributes are known by name, and their order does not matter: a join is a natural one over the
names that both sides have, perhaps with a condition; unions and differences go by names too.

:func:`tidings.algebra.expressions.evaluate.evaluate` and :func:`tidings.algebra.changes.chain_rule.chain_rule` are
among the total functions over the closed union :data:`AlgebraExpression`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.operators import UserOperator
from tidings.errors import DuplicateColumn, InvalidExpression, InvalidOperator, UnknownColumn, closest


class _Fluent:
    """The operators as methods."""

    __slots__ = ()

    def select(self: Any, condition: str | Condition) -> Selected:
        """σ: the tuples for which a condition is true."""
        return Selected(self, Condition.of(condition))

    def project(self: Any, *attributes: str) -> Projected:
        """Π: tuples cut down to some attributes; equal ones are one."""
        return Projected(self, attributes)

    def join(self: Any, other: AlgebraExpression, on: str | Condition | None = None) -> Joined:
        """⋈: combinations that agree on the attributes of the same names, and for which the condition is true."""
        return Joined(self, other, None if on is None else Condition.of(on))

    def union(self: Any, other: AlgebraExpression) -> United:
        """∪: what is on either side."""
        return United(self, other)

    def difference(self: Any, other: AlgebraExpression) -> Subtracted:
        """What is on this side and not on the other."""
        return Subtracted(self, other)

    def rename(self: Any, **names: str) -> Renamed:
        """ρ: the same tuples under other names, given as ``old="new"``."""
        return Renamed(self, tuple(names.items()))

    def apply(self: Any, operator: UserOperator, *others: AlgebraExpression) -> Applied:
        """An operator of one's own, on this expression and perhaps others."""
        return Applied(operator, (self, *others))


@dataclass(frozen=True, slots=True)
class Stored(_Fluent):
    """A relation by its name.  ``data`` is where its tuples come from, if nothing else says so."""

    name: str
    attributes: tuple[str, ...]
    types: tuple[str, ...] = field(default=(), compare=False)
    data: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _require_distinct(self.attributes)


@dataclass(frozen=True, slots=True)
class Selected(_Fluent):
    """σ"""

    input: AlgebraExpression
    condition: Condition

    def __post_init__(self) -> None:
        require_known(self.condition.attributes, self.input.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.input.attributes


@dataclass(frozen=True, slots=True)
class Projected(_Fluent):
    """Π"""

    input: AlgebraExpression
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        _require_distinct(self.attributes)
        require_known(self.attributes, self.input.attributes)


@dataclass(frozen=True, slots=True)
class Joined(_Fluent):
    """⋈"""

    left: AlgebraExpression
    right: AlgebraExpression
    on: Condition | None = None

    def __post_init__(self) -> None:
        if self.on is not None:
            require_known(self.on.attributes, self.attributes)

    @property
    def shared(self) -> tuple[str, ...]:
        """The attributes that both sides have."""
        return tuple(a for a in self.left.attributes if a in self.right.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        own = tuple(a for a in self.right.attributes if a not in self.left.attributes)
        return self.left.attributes + own


@dataclass(frozen=True, slots=True)
class United(_Fluent):
    """∪"""

    left: AlgebraExpression
    right: AlgebraExpression

    def __post_init__(self) -> None:
        require_same(self.left.attributes, self.right.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes


@dataclass(frozen=True, slots=True)
class Subtracted(_Fluent):
    """The difference."""

    left: AlgebraExpression
    right: AlgebraExpression

    def __post_init__(self) -> None:
        require_same(self.left.attributes, self.right.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes


@dataclass(frozen=True, slots=True)
class Renamed(_Fluent):
    """ρ: pairs of the old and the new name."""

    input: AlgebraExpression
    names: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        require_known((old for old, _ in self.names), self.input.attributes)
        _require_distinct(self.attributes)

    @property
    def mapping(self) -> Mapping[str, str]:
        return dict(self.names)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.mapping.get(a, a) for a in self.input.attributes)


@dataclass(frozen=True, slots=True)
class Applied(_Fluent):
    """An operator of a user."""

    operator: UserOperator
    inputs: tuple[AlgebraExpression, ...]

    def __post_init__(self) -> None:
        for attribute in self.operator.key:
            if any(attribute not in i.attributes for i in self.inputs):
                reason = f"an input has no attribute {attribute}, which is its key"
                raise InvalidOperator(name=self.operator.name, reason=reason)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.operator.attributes


AlgebraExpression: TypeAlias = Stored | Selected | Projected | Joined | United | Subtracted | Renamed | Applied


def inputs_of(node: AlgebraExpression) -> tuple[AlgebraExpression, ...]:
    """The expressions right below a node."""
    match node:
        case Stored():
            return ()
        case Selected() | Projected() | Renamed():
            return (node.input,)
        case Applied():
            return node.inputs
        case _:
            return node.left, node.right


def with_inputs(node: AlgebraExpression, inputs: tuple[AlgebraExpression, ...]) -> AlgebraExpression:
    """A node over other expressions."""
    match node:
        case Stored():
            return node
        case Selected() | Projected() | Renamed():
            return replace(node, input=inputs[0])
        case Applied():
            return replace(node, inputs=inputs)
        case _:
            return replace(node, left=inputs[0], right=inputs[1])


def stored_relations(node: AlgebraExpression) -> tuple[Stored, ...]:
    """The relations an expression reads, each once, from left to right."""
    if isinstance(node, Stored):
        return (node,)
    return tuple(dict.fromkeys(leaf for part in inputs_of(node) for leaf in stored_relations(part)))


def require_known(names: Iterable[str], attributes: tuple[str, ...]) -> None:
    for name in sorted(names):
        if name not in attributes:
            raise UnknownColumn(None, closest(name, attributes), name=name)


def require_same(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    if set(left) != set(right):
        reason = f"one side has the attributes {', '.join(left)}, the other {', '.join(right)}"
        raise InvalidExpression(None, "rename or project, so that both sides have the same", reason=reason)


def _require_distinct(names: tuple[str, ...]) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise DuplicateColumn(name=twice)

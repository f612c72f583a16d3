"""Expressions for deltas: frozen data, made of incremental operators, their old inputs and deltas of stored relations.

:class:`Changes` is the operator that the others are there to replace.  :data:`DeltaExpression` is closed; the total
functions over it are :func:`tidings.algebra.changes.incremental.delta_of` and those that print and draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.nodes import AlgebraExpression, Joined, Stored, require_known, require_same
from tidings.algebra.expressions.operators import UserOperator


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes(E): how an expression changes."""

    expression: AlgebraExpression

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.expression.attributes


@dataclass(frozen=True, slots=True)
class StoredDelta:
    """ΔR of a stored relation."""

    relation: Stored

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.relation.attributes


@dataclass(frozen=True, slots=True)
class IncrSelect:
    """IncrSelect_p(ΔR)"""

    delta: DeltaExpression
    condition: Condition

    def __post_init__(self) -> None:
        require_known(self.condition.attributes, self.delta.attributes)

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.delta.attributes


@dataclass(frozen=True, slots=True)
class IncrProject:
    """IncrProject_A(R, ΔR)"""

    input: AlgebraExpression
    delta: DeltaExpression
    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        require_same(self.input.attributes, self.delta.attributes)
        require_known(self.attributes, self.input.attributes)


@dataclass(frozen=True, slots=True)
class _Binary:
    left: AlgebraExpression
    right: AlgebraExpression
    left_delta: DeltaExpression
    right_delta: DeltaExpression

    def __post_init__(self) -> None:
        require_same(self.left.attributes, self.left_delta.attributes)
        require_same(self.right.attributes, self.right_delta.attributes)


@dataclass(frozen=True, slots=True)
class IncrJoin(_Binary):
    """IncrJoin_p(R1, R2, ΔR1, ΔR2)"""

    on: Condition | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        return Joined(self.left, self.right, self.on).attributes


@dataclass(frozen=True, slots=True)
class IncrUnion(_Binary):
    """IncrUnion(R1, R2, ΔR1, ΔR2)"""

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes


@dataclass(frozen=True, slots=True)
class IncrDiff(_Binary):
    """IncrDiff(R1, R2, ΔR1, ΔR2)"""

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.left.attributes


@dataclass(frozen=True, slots=True)
class IncrRename:
    """The renaming of a delta."""

    delta: DeltaExpression
    names: tuple[tuple[str, str], ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        mapping = dict(self.names)
        return tuple(mapping.get(a, a) for a in self.delta.attributes)


@dataclass(frozen=True, slots=True)
class IncrOperator:
    """The incremental form of an operator of a user, n-ary."""

    operator: UserOperator
    inputs: tuple[AlgebraExpression, ...]
    deltas: tuple[DeltaExpression, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.operator.attributes


DeltaExpression: TypeAlias = (
    Changes | StoredDelta | IncrSelect | IncrProject | IncrJoin | IncrUnion | IncrDiff | IncrRename | IncrOperator
)

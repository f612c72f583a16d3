"""Incremental forms: the change of one operator from its old inputs and their deltas; the value of expressions of them.

With r = R - d_R for what stays of R, d for d_R and i for i_R:

    IncrSelect    d_V = σ(d)                                    i_V = σ(i)
    IncrProject   d_V = (t ⊎ δt) - Π+(R), t = Π+(d) - Π+(i)     i_V = δ(Π+(i) - Π+(d)) - Π+(R)
    IncrJoin      d_V = r1⋈d2 ∪ d1⋈R2                           i_V = r1⋈i2 ∪ i1⋈r2 ∪ i1⋈i2
    IncrUnion     d_V = (d1 - i2 - r2) ∪ (d2 - i1 - r1)         i_V = (i1 - R2) ∪ (i2 - R1)
    IncrDiff      d_V = (r1 ∩ i2) ∪ (d1 - R2)                   i_V = (i1 - r2 - i2) ∪ (r1 ∩ d2)

IncrProject counts by the difference of bags: a value goes if as many tuples lose it as had it.  No counts are stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import assert_never

from tidings.algebra.changes.first_principle import first_principle
from tidings.algebra.changes.nodes import (
    Changes,
    DeltaExpression,
    IncrDiff,
    IncrJoin,
    IncrOperator,
    IncrProject,
    IncrRename,
    IncrSelect,
    IncrUnion,
    StoredDelta,
)
from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.delta_relations.instance import RelationInstance, Values
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.evaluate import evaluate, join, projected_values, selection, union
from tidings.algebra.expressions.nodes import AlgebraExpression


def incr_select(delta: DeltaPair, condition: Condition | str) -> DeltaPair:
    """The change of σ; the relation itself is not needed."""
    condition = Condition.of(condition)
    return DeltaPair(selection(delta.removed, condition), selection(delta.added, condition))


@dataclass(frozen=True, slots=True)
class ProjectionSteps:
    """The steps by which the change of a projection is found; a bag counts how often it has each tuple."""

    old: Counter[Values]
    """Π+(R)"""
    lost: Counter[Values]
    """d1 = Π+(d)"""
    gained: Counter[Values]
    """i1 = Π+(i)"""
    net_lost: Counter[Values]
    """d2 = d1 - i1"""
    net_gained: Counter[Values]
    """i2 = i1 - d1"""
    change: DeltaPair
    """d_V = (d2 ⊎ δ(d2)) - Π+(R), i_V = δ(i2) - Π+(R)"""


def incr_project_steps(relation: RelationInstance, delta: DeltaPair, attributes: tuple[str, ...]) -> ProjectionSteps:
    """The change of Π, step by step: without duplicates removed, compressed, and held against the old bag."""
    lost, gained = (Counter(projected_values(part, attributes)) for part in (delta.removed, delta.added))
    old, net_lost, net_gained = Counter(projected_values(relation, attributes)), lost - gained, gained - lost
    removed = (net_lost + Counter(set(net_lost))) - old
    added = Counter(set(net_gained)) - old
    change = DeltaPair(RelationInstance.by_value(attributes, removed), RelationInstance.by_value(attributes, added))
    return ProjectionSteps(old, lost, gained, net_lost, net_gained, change)


def incr_project(relation: RelationInstance, delta: DeltaPair, attributes: tuple[str, ...]) -> DeltaPair:
    """The change of Π, which the tuples that stay can hide."""
    return incr_project_steps(relation, delta, attributes).change


def incr_join(
    left: RelationInstance,
    right: RelationInstance,
    left_delta: DeltaPair,
    right_delta: DeltaPair,
    on: Condition | None = None,
) -> DeltaPair:
    """The change of ⋈ when both sides may change."""
    d1, i1, d2, i2 = left_delta.removed, left_delta.added, right_delta.removed, right_delta.added
    r1, r2 = left.without(d1), right.without(d2)
    removed = union(join(r1, d2, on), join(d1, right, on))
    added = union(union(join(r1, i2, on), join(i1, r2, on)), join(i1, i2, on))
    return DeltaPair(removed, added)


def incr_union(
    left: RelationInstance, right: RelationInstance, left_delta: DeltaPair, right_delta: DeltaPair
) -> DeltaPair:
    """The change of ∪: what one side loses the other may have or gain."""
    d1, i1, d2, i2 = left_delta.removed, left_delta.added, right_delta.removed, right_delta.added
    r1, r2 = left.without(d1), right.without(d2)
    removed = union(d1.without(i2).without(r2), d2.without(i1).without(r1))
    return DeltaPair(removed, union(i1.without(right), i2.without(left)))


def incr_diff(
    left: RelationInstance, right: RelationInstance, left_delta: DeltaPair, right_delta: DeltaPair
) -> DeltaPair:
    """The change of a difference: what the right side gains goes, what it loses may come."""
    d1, i1, d2, i2 = left_delta.removed, left_delta.added, right_delta.removed, right_delta.added
    r1, r2 = left.without(d1), right.without(d2)
    removed = union(r1.common(i2), d1.without(right))
    return DeltaPair(removed, union(i1.without(r2).without(i2), r1.common(d2)))


def delta_of(node: DeltaExpression, substitutions: SubstitutionList) -> DeltaPair:
    """The delta that an expression stands for."""

    def old(part: AlgebraExpression) -> RelationInstance:
        return evaluate(part, substitutions.old)

    def delta(part: DeltaExpression) -> DeltaPair:
        return delta_of(part, substitutions)

    match node:
        case Changes():
            return first_principle(node.expression, substitutions)
        case StoredDelta():
            return substitutions.delta(node.relation)
        case IncrSelect():
            return incr_select(delta(node.delta), node.condition)
        case IncrRename():
            names = node.attributes
            parts = (
                part.mapped(names, lambda row: row) for part in (delta(node.delta).removed, delta(node.delta).added)
            )
            return DeltaPair(*parts)
        case IncrProject():
            change = delta(node.delta)
            return incr_project(old(node.input), change, node.attributes) if change else _nothing(node)
        case IncrOperator():
            return node.operator.changes(tuple(map(old, node.inputs)), tuple(map(delta, node.deltas)))
        case IncrJoin() | IncrUnion() | IncrDiff():
            changes = delta(node.left_delta), delta(node.right_delta)
            if not any(changes):
                return _nothing(node)
            sides = old(node.left), old(node.right)
            if isinstance(node, IncrJoin):
                return incr_join(*sides, *changes, node.on)
            return (incr_union if isinstance(node, IncrUnion) else incr_diff)(*sides, *changes)
        case _:
            assert_never(node)


def _nothing(node: DeltaExpression) -> DeltaPair:
    """What comes of no change, without a look at the relations."""
    return DeltaPair.nothing(node.attributes)

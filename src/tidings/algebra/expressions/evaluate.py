"""The value of an expression: the papers' relational operators over relations with tids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

from tidings.algebra.delta_relations.instance import RelationInstance, Tid, Values
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.nodes import (
    AlgebraExpression,
    Applied,
    Joined,
    Projected,
    Renamed,
    Selected,
    Stored,
    Subtracted,
    United,
)
from tidings.algebra.expressions.sources import instance_of
from tidings.errors import UnknownRelation

State: TypeAlias = Callable[[Stored], RelationInstance]
"""What the stored relations are."""


def own_tuples(leaf: Stored) -> RelationInstance:
    """The tuples of the data that a relation was made with."""
    if leaf.data is None:
        raise UnknownRelation(None, "give its tuples by relation(name, data=…), or a state", name=leaf.name)
    return instance_of(leaf.data, name=leaf.name)


def evaluate(node: AlgebraExpression, state: State = own_tuples) -> RelationInstance:
    """The relation an expression stands for in a state; without one, with the data of its relations as they are now."""
    match node:
        case Stored():
            return state(node).in_order_of(node.attributes).require_set(node.name)
        case Selected():
            return selection(evaluate(node.input, state), node.condition)
        case Projected():
            return projection(evaluate(node.input, state), node.attributes)
        case Joined():
            return join(evaluate(node.left, state), evaluate(node.right, state), node.on)
        case United():
            return union(evaluate(node.left, state), evaluate(node.right, state))
        case Subtracted():
            return evaluate(node.left, state).without(evaluate(node.right, state))
        case Renamed():
            return evaluate(node.input, state).mapped(node.attributes, lambda row: row)
        case Applied():
            return node.operator.apply(tuple(evaluate(part, state) for part in node.inputs))
        case _:
            assert_never(node)


def selection(relation: RelationInstance, condition: Condition) -> RelationInstance:
    """σ; tids stay."""
    return relation.filtered(lambda row: condition.holds(row_of(relation, row)))


def projected_values(relation: RelationInstance, attributes: tuple[str, ...]) -> list[Values]:
    """Π+: the tuples cut down to some attributes, as often as they come."""
    places = [relation.place(attribute) for attribute in attributes]
    return [tuple(row[p] for p in places) for row in relation.tuples.values()]


def projection(relation: RelationInstance, attributes: tuple[str, ...]) -> RelationInstance:
    """Π; equal tuples are one, and the values are its tid."""
    return RelationInstance.by_value(attributes, projected_values(relation, attributes))


def join(left: RelationInstance, right: RelationInstance, on: Condition | None = None) -> RelationInstance:
    """⋈; the tid is that of the left tuple followed by that of the right one.  NULL agrees with nothing."""
    shared = [a for a in left.attributes if a in right.attributes]
    own = [right.place(a) for a in right.attributes if a not in left.attributes]
    attributes = left.attributes + tuple(right.attributes[p] for p in own)
    left_places, right_places = [left.place(a) for a in shared], [right.place(a) for a in shared]
    by_key: dict[Values, list[tuple[Tid, Values]]] = defaultdict(list)
    for tid, row in right.tuples.items():
        by_key[tuple(row[p] for p in right_places)].append((tid, row))
    tuples: dict[Tid, Values] = {}
    for tid, row in left.tuples.items():
        key = tuple(row[p] for p in left_places)
        for other_tid, other in by_key.get(key, []) if None not in key else []:
            tuples[tid + other_tid] = row + tuple(other[p] for p in own)
    combined = RelationInstance(attributes, tuples)
    return combined if on is None else selection(combined, on)


def union(left: RelationInstance, right: RelationInstance) -> RelationInstance:
    """∪; the tid of a tuple that both sides have is put together from both, another keeps its own.

    Where both sides use one tid for different tuples, that of the right one gets a prime.
    """
    right = right.in_order_of(left.attributes)
    tuples: dict[Tid, Values] = {}
    for row, tid in left.tids.items():
        tuples[tid + right.tids[row] if row in right.tids else tid] = row
    for row, tid in right.tids.items():
        if row not in left.tids:
            while tid in tuples:
                tid = (*tid, "′")
            tuples[tid] = row
    return RelationInstance(left.attributes, tuples)


def row_of(relation: RelationInstance, row: Values) -> dict[str, Any]:
    return dict(zip(relation.attributes, row, strict=True))

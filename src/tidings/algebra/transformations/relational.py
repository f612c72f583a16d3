"""The laws of relational operators that the transformations of incremental ones come from, outer operator downwards.

Each is a function from expression to expression; it gives None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
from tidings.algebra.transformations.join_order import reassociated


def _commute_join(node: AlgebraExpression) -> AlgebraExpression | None:
    return Joined(node.right, node.left, node.on) if isinstance(node, Joined) else None


def _associate_join(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Joined(r1, Joined(r2, r3, inner), outer):
            low, high = reassociated((inner, outer), (*r1.attributes, *r2.attributes))
            return Joined(Joined(r1, r2, low), r3, high)
    return None


def _merge_projects(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Projected(Projected(below, _), attributes):
            return Projected(below, attributes)
    return None


def _merge_selects(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Selected(Selected(below, inner), outer):
            merged = Condition.all_of((inner, outer))
            assert merged is not None
            return Selected(below, merged)
    return None


def _select_below_project(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Selected(Projected(below, attributes), condition):
            return Projected(Selected(below, condition), attributes)
    return None


def _select_below_join(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Selected(Joined(left, right, on), condition):
            of_left = [p for p in condition.parts if p.attributes <= set(left.attributes)]
            of_right = [p for p in condition.parts if p not in of_left and p.attributes <= set(right.attributes)]
            if not of_left and not of_right:
                return None
            p1, p2 = Condition.all_of(of_left), Condition.all_of(of_right)
            rest = Condition.all_of(p for p in condition.parts if p not in of_left and p not in of_right)
            left = left if p1 is None else Selected(left, p1)
            joined = Joined(left, right if p2 is None else Selected(right, p2), on)
            return joined if rest is None else Selected(joined, rest)
    return None


def _select_below_union(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Selected(United(left, right), condition):
            return United(Selected(left, condition), Selected(right, condition))
    return None


def _select_below_difference(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Selected(Subtracted(left, right), condition):
            return Subtracted(Selected(left, condition), Selected(right, condition))
    return None


def _project_below_join(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Projected(Joined(left, right, on) as joined, attributes):
            needed = {*joined.shared, *(on.attributes if on is not None else ())}
            b, c = (tuple(a for a in attributes if a in side.attributes) for side in (left, right))
            keeps_all = set(b) == set(left.attributes) and set(c) == set(right.attributes)
            if needed <= set(attributes) and b and c and not keeps_all:
                return Joined(Projected(left, b), Projected(right, c), on)
    return None


def _project_below_union(node: AlgebraExpression) -> AlgebraExpression | None:
    match node:
        case Projected(United(left, right), attributes):
            return United(Projected(left, attributes), Projected(right, attributes))
    return None


SINKING: tuple[Callable[[AlgebraExpression], AlgebraExpression | None], ...] = (
    _merge_selects,
    _select_below_project,
    _select_below_join,
    _select_below_union,
    _select_below_difference,
)
"""The laws that bring selections alone closer to the leaves."""

PUSHING: tuple[Callable[[AlgebraExpression], AlgebraExpression | None], ...] = (
    _merge_selects,
    _merge_projects,
    _select_below_project,
    _select_below_join,
    _select_below_union,
    _select_below_difference,
    _project_below_join,
    _project_below_union,
)
"""The laws that bring selections and projections closer to the leaves."""

LAWS = (*PUSHING, _commute_join, _associate_join)


def rewritings(node: AlgebraExpression) -> Iterator[AlgebraExpression]:
    """All expressions that one law makes of an expression, at one place."""
    for law in LAWS:
        if (other := law(node)) is not None:
            yield other
    match node:
        case Stored():
            return
        case Selected(below, condition):
            yield from (Selected(other, condition) for other in rewritings(below))
        case Projected(below, attributes):
            yield from (Projected(other, attributes) for other in rewritings(below))
        case Renamed(below, names):
            yield from (Renamed(other, names) for other in rewritings(below))
        case Joined(left, right, on):
            yield from (Joined(other, right, on) for other in rewritings(left))
            yield from (Joined(left, other, on) for other in rewritings(right))
        case United(left, right):
            yield from (United(other, right) for other in rewritings(left))
            yield from (United(left, other) for other in rewritings(right))
        case Subtracted(left, right):
            yield from (Subtracted(other, right) for other in rewritings(left))
            yield from (Subtracted(left, other) for other in rewritings(right))
        case Applied(operator, inputs):
            for place, part in enumerate(inputs):
                for other in rewritings(part):
                    yield Applied(operator, (*inputs[:place], other, *inputs[place + 1 :]))


def equivalents(node: AlgebraExpression, limit: int = 200) -> tuple[AlgebraExpression, ...]:
    """The expression and those that the laws make of it, the fewest steps first, up to a limit."""
    found = {node: None}
    waiting = [node]
    while waiting and len(found) < limit:
        for other in rewritings(waiting.pop(0)):
            if other not in found and len(found) < limit:
                found[other] = None
                waiting.append(other)
    return tuple(found)

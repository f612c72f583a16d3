"""Two ways to a good expression for the changes of another, and the driver that pushes incremental operators down.

- Relational first: the laws of relational operators give N equal expressions; the chain rule is applied to each, and
  the cheapest is taken.  N applications of the chain rule.
- Chain rule first: it is applied once, and the transformations of incremental operators bring selections and
  projections down, because deltas are small and become smaller there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tidings.algebra.changes.chain_rule import chain_rule
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
from tidings.algebra.expressions.nodes import AlgebraExpression
from tidings.algebra.transformations.cost import cost
from tidings.algebra.transformations.incremental import (
    merge_projects,
    merge_selects,
    project_below_join,
    project_below_union,
    select_below_difference,
    select_below_join,
    select_below_project,
    select_below_union,
)
from tidings.algebra.transformations.relational import equivalents
from tidings.errors import TransformationRefused

_DOWN = (
    merge_selects,
    merge_projects,
    select_below_project,
    select_below_join,
    select_below_union,
    select_below_difference,
    project_below_join,
    project_below_union,
)


def relational_first(
    expression: AlgebraExpression, sizes: Mapping[str, int] | None = None, limit: int = 200
) -> DeltaExpression:
    """The cheapest of what the chain rule makes of all equal expressions; of equally cheap ones the first."""
    return min((chain_rule(other) for other in equivalents(expression, limit)), key=lambda node: cost(node, sizes))


def chain_rule_first(expression: AlgebraExpression) -> DeltaExpression:
    """What the chain rule makes of the expression, with incremental operators pushed down."""
    return push_down(chain_rule(expression))


def push_down(node: DeltaExpression) -> DeltaExpression:
    """An equal expression with selections and projections of deltas as far down as they go.

    Each step brings one operator below another or merges two, so it ends.
    """
    for rule in _DOWN:
        try:
            return push_down(rule(node))
        except TransformationRefused:
            continue
    match node:
        case Changes() | StoredDelta():
            return node
        case IncrSelect(delta, condition):
            lower = push_down(delta)
            return node if lower == delta else push_down(IncrSelect(lower, condition))
        case IncrProject(below, delta, attributes):
            return IncrProject(below, push_down(delta), attributes)
        case IncrRename(delta, names):
            return IncrRename(push_down(delta), names)
        case IncrJoin(left, right, left_delta, right_delta, on):
            return IncrJoin(left, right, push_down(left_delta), push_down(right_delta), on)
        case IncrUnion(left, right, left_delta, right_delta):
            return IncrUnion(left, right, push_down(left_delta), push_down(right_delta))
        case IncrDiff(left, right, left_delta, right_delta):
            return IncrDiff(left, right, push_down(left_delta), push_down(right_delta))
        case IncrOperator(operator, inputs, deltas):
            return IncrOperator(operator, inputs, tuple(map(push_down, deltas)))
        case _:
            assert_never(node)

"""The generic chain rule: Changes of any expression as a graph of incremental operators.

    Changes(Op(E1, …, En)) = IncrOp(E1, …, Em, Changes(E1), …, Changes(En))        Changes(R) = ΔR

Op may have any number of inputs; IncrOp is given as many of the old ones as it needs.  So an operator of a user goes
through it like the others.
"""

from __future__ import annotations

from typing import assert_never

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


def chain_rule_once(changes: Changes) -> DeltaExpression:
    """Move the outermost operator out of Changes.

    >>> from tidings.algebra.expressions.sources import relation
    >>> from tidings.algebra.changes.text import show
    >>> show(chain_rule_once(Changes(relation("r", "a").select("a > 1").project("a"))))
    'IncrProject[a](σ[a > 1](r), Changes(σ[a > 1](r)))'
    """
    match changes.expression:
        case Stored() as leaf:
            return StoredDelta(leaf)
        case Selected(below, condition):
            return IncrSelect(Changes(below), condition)
        case Projected(below, attributes):
            return IncrProject(below, Changes(below), attributes)
        case Joined(left, right, on):
            return IncrJoin(left, right, Changes(left), Changes(right), on)
        case United(left, right):
            return IncrUnion(left, right, Changes(left), Changes(right))
        case Subtracted(left, right):
            return IncrDiff(left, right, Changes(left), Changes(right))
        case Renamed(below, names):
            return IncrRename(Changes(below), names)
        case Applied(operator, inputs):
            return IncrOperator(operator, inputs, tuple(map(Changes, inputs)))
        case _ as other:
            assert_never(other)


def chain_rule(expression: AlgebraExpression | Changes) -> DeltaExpression:
    """Changes of an expression with no Changes left in it."""
    changes = expression if isinstance(expression, Changes) else Changes(expression)
    return _opened(chain_rule_once(changes))


def _opened(node: DeltaExpression) -> DeltaExpression:
    """A node with the chain rule applied to every Changes below it."""
    match node:
        case Changes():
            return chain_rule(node)
        case StoredDelta():
            return node
        case IncrSelect(delta, condition):
            return IncrSelect(_opened(delta), condition)
        case IncrProject(below, delta, attributes):
            return IncrProject(below, _opened(delta), attributes)
        case IncrJoin(left, right, left_delta, right_delta, on):
            return IncrJoin(left, right, _opened(left_delta), _opened(right_delta), on)
        case IncrUnion(left, right, left_delta, right_delta):
            return IncrUnion(left, right, _opened(left_delta), _opened(right_delta))
        case IncrDiff(left, right, left_delta, right_delta):
            return IncrDiff(left, right, _opened(left_delta), _opened(right_delta))
        case IncrRename(delta, names):
            return IncrRename(_opened(delta), names)
        case IncrOperator(operator, inputs, deltas):
            return IncrOperator(operator, inputs, tuple(map(_opened, deltas)))
        case _:
            assert_never(node)

"""What the sites of fragments can judge: selections go down to them; fragments that cannot have a tuple are left out.

    σ_p(R1 ∪ R2) = σ_p(R1) ∪ σ_p(R2)        σ_p(R1) = ∅ where p contradicts the condition of R1

A condition that reads two sites as it is written may be one of a single site then.  Contradictions are found between
comparisons with constants, for relations whose types are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from sqlglot import exp

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
    inputs_of,
    with_inputs,
)
from tidings.algebra.transformations.relational import SINKING
from tidings.analysis.contradiction import contradict
from tidings.ir.expression import Expression


def localised(expression: AlgebraExpression, conditions: Mapping[str, Condition]) -> AlgebraExpression:
    """An equal expression; ``conditions`` are those of fragments, by the names of their relations.

    >>> from tidings.algebra.changes.text import show
    >>> r1, r2 = (Stored(name, ("a",), ("int",)) for name in ("r1", "r2"))
    >>> known = {"r1": Condition.of("a < 5"), "r2": Condition.of("a >= 5")}
    >>> show(localised(r1.union(r2).select("a > 1"), known)), show(localised(r1.union(r2).select("a > 7"), known))
    ('(σ[a > 1](r1) ∪ σ[a > 1](r2))', 'σ[a > 7](r2)')
    """
    sunk = _sunk(expression)
    left = _left(sunk, conditions)
    if left is None:
        return sunk
    return left if left.attributes == expression.attributes else Projected(left, expression.attributes)


def _sunk(node: AlgebraExpression) -> AlgebraExpression:
    """Selections as far down as they go."""
    if isinstance(node, Selected):
        for law in SINKING:
            if (other := law(node)) is not None:
                return _sunk(other)
    return with_inputs(node, tuple(map(_sunk, inputs_of(node))))


def _left(node: AlgebraExpression, conditions: Mapping[str, Condition]) -> AlgebraExpression | None:
    """What is left of an expression without the fragments that have no tuple for it; nothing if it has none."""
    match node:
        case Stored():
            return node
        case Selected(Stored() as leaf, condition):
            return None if _is_empty(leaf, condition, conditions) else node
        case Selected() | Projected() | Renamed():
            below = _left(node.input, conditions)
            return None if below is None else with_inputs(node, (below,))
        case Joined():
            left, right = _left(node.left, conditions), _left(node.right, conditions)
            return None if left is None or right is None else with_inputs(node, (left, right))
        case United():
            left, right = _left(node.left, conditions), _left(node.right, conditions)
            return right if left is None else left if right is None else with_inputs(node, (left, right))
        case Subtracted():
            left, right = _left(node.left, conditions), _left(node.right, conditions)
            return left if left is None or right is None else with_inputs(node, (left, right))
        case Applied():
            return with_inputs(node, tuple(_left(below, conditions) or below for below in node.inputs))
        case _:
            assert_never(node)


def _is_empty(leaf: Stored, condition: Condition, conditions: Mapping[str, Condition]) -> bool:
    known = {(leaf.name, name): type for name, type in zip(leaf.attributes, leaf.types, strict=False)}
    both = [_of(leaf, c) for c in (condition, conditions.get(leaf.name)) if c is not None]
    return bool(known) and contradict(both, known)


def _of(leaf: Stored, condition: Condition) -> Expression:
    """A condition with the columns of a relation."""

    def named(node: Expression) -> Expression:
        return exp.column(node.name, table=leaf.name, quoted=True) if isinstance(node, exp.Column) else node

    return condition.tree.copy().transform(named)

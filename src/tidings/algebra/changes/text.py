"""Expressions for deltas in the signs of the algebra, on one line, and their parts."""

from __future__ import annotations

from typing import TypeAlias, assert_never

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
from tidings.algebra.expressions.nodes import AlgebraExpression, inputs_of
from tidings.algebra.expressions.text import label, show_expression

AnyExpression: TypeAlias = AlgebraExpression | DeltaExpression


def delta_label(node: DeltaExpression) -> str:
    """What a node does, without its inputs."""
    match node:
        case Changes():
            return "Changes"
        case StoredDelta():
            return f"Δ{node.relation.name}"
        case IncrSelect():
            return f"IncrSelect[{node.condition}]"
        case IncrProject():
            return f"IncrProject[{', '.join(node.attributes)}]"
        case IncrJoin():
            return "IncrJoin" if node.on is None else f"IncrJoin[{node.on}]"
        case IncrUnion():
            return "IncrUnion"
        case IncrDiff():
            return "IncrDiff"
        case IncrRename():
            return f"IncrRename[{', '.join(f'{old} as {new}' for old, new in node.names)}]"
        case IncrOperator():
            return f"Incr{node.operator.name}"
        case _:
            assert_never(node)


def delta_inputs(node: DeltaExpression) -> tuple[AnyExpression, ...]:
    """The old inputs of a node, and then the deltas."""
    match node:
        case Changes():
            return (node.expression,)
        case StoredDelta():
            return ()
        case IncrSelect() | IncrRename():
            return (node.delta,)
        case IncrProject():
            return node.input, node.delta
        case IncrJoin() | IncrUnion() | IncrDiff():
            return node.left, node.right, node.left_delta, node.right_delta
        case IncrOperator():
            return *node.inputs, *node.deltas
        case _:
            assert_never(node)


def any_label(node: AnyExpression) -> str:
    """The label of a node of either kind."""
    return label(node) if isinstance(node, AlgebraExpression) else delta_label(node)


def any_inputs(node: AnyExpression) -> tuple[AnyExpression, ...]:
    """What stands right below a node of either kind."""
    return inputs_of(node) if isinstance(node, AlgebraExpression) else delta_inputs(node)


def show(node: AnyExpression) -> str:
    """An expression of either kind on one line."""
    if isinstance(node, AlgebraExpression):
        return show_expression(node)
    inputs = any_inputs(node)
    return f"{any_label(node)}({', '.join(map(show, inputs))})" if inputs else any_label(node)

"""Expressions in the signs of the algebra, on one line."""

from __future__ import annotations

from typing import assert_never

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


def label(node: AlgebraExpression) -> str:
    """What a node does, without its inputs."""
    match node:
        case Stored():
            return node.name
        case Selected():
            return f"σ[{node.condition}]"
        case Projected():
            return f"Π[{', '.join(node.attributes)}]"
        case Joined():
            return "⋈" if node.on is None else f"⋈[{node.on}]"
        case United():
            return "∪"
        case Subtracted():
            return "-"
        case Renamed():
            return f"ρ[{', '.join(f'{old} as {new}' for old, new in node.names)}]"
        case Applied():
            return node.operator.name
        case _:
            assert_never(node)


def show_expression(node: AlgebraExpression) -> str:
    """An expression on one line."""
    match node:
        case Stored():
            return node.name
        case Joined() | United() | Subtracted():
            return f"({show_expression(node.left)} {label(node)} {show_expression(node.right)})"
        case Applied():
            return f"{label(node)}({', '.join(map(show_expression, node.inputs))})"
        case Selected() | Projected() | Renamed():
            return f"{label(node)}({show_expression(node.input)})"
        case _:
            assert_never(node)

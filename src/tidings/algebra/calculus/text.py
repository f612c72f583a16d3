"""Expressions as one line of algebra, with the signs of the paper.

>>> from tidings.algebra.calculus.expression import DeltaMinus, OldState, SetIntersection
>>> print(show(SetIntersection(OldState("Q", ("x",)), DeltaMinus("R", ("x",)))))
Q_old ∩ Δ-R
"""

from __future__ import annotations

from typing import assert_never

from tidings.algebra.calculus.expression import (
    Attribute,
    DeltaMinus,
    DeltaPlus,
    NaturalJoin,
    NewState,
    OldState,
    Projection,
    Selection,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
)

Binary = SetUnion | SetDifference | SetIntersection | SetProduct | NaturalJoin

_SIGNS: dict[type[Binary], str] = {
    SetUnion: "∪",
    SetDifference: "−",
    SetIntersection: "∩",
    SetProduct: "×",
    NaturalJoin: "⋈",
}


def show(node: SetExpression) -> str:
    """The expression as text; σ and π bind tighter than the signs between two sets."""
    match node:
        case NewState():
            return node.name
        case OldState():
            return f"{node.name}_old"
        case DeltaPlus():
            return f"Δ+{node.name}"
        case DeltaMinus():
            return f"Δ-{node.name}"
        case Selection():
            return f"σ[{node.condition}] {_operand(node.input)}"
        case Projection():
            return f"π[{', '.join(map(_item, node.items))}] {_operand(node.input)}"
        case SetUnion() | SetDifference() | SetIntersection() | SetProduct() | NaturalJoin():
            left = show(node.left) if _chains(node) else _operand(node.left)
            return f"{left} {_SIGNS[type(node)]} {_operand(node.right)}"
        case _:
            assert_never(node)


def _chains(node: Binary) -> bool:
    """Whether the left operand is the same operator, so that a ⋈ b ⋈ c needs no parentheses."""
    return type(node.left) is type(node)


def _operand(node: SetExpression) -> str:
    return f"({show(node)})" if isinstance(node, Binary) else show(node)


def _item(item: Attribute) -> str:
    value = str(item.value)
    return item.name if value == item.name else f"{item.name} = {value}"

"""Expressions as one line of algebra, with the signs of the paper.

>>> from tidings.algebra.expression import Intersect, Old, DeltaMinus
>>> print(show(Intersect(Old("Q", ("x",)), DeltaMinus("R", ("x",)))))
Q_old ∩ Δ-R
"""

from __future__ import annotations

from typing import assert_never

from tidings.algebra.expression import (
    DeltaMinus,
    DeltaPlus,
    Difference,
    Expression,
    Intersect,
    Item,
    Join,
    Old,
    Product,
    Project,
    Relation,
    Select,
    Union,
)

Binary = Union | Difference | Intersect | Product | Join

_SIGNS: dict[type[Binary], str] = {Union: "∪", Difference: "−", Intersect: "∩", Product: "×", Join: "⋈"}


def show(node: Expression) -> str:
    """The expression as text; σ and π bind tighter than the signs between two sets."""
    match node:
        case Relation():
            return node.name
        case Old():
            return f"{node.name}_old"
        case DeltaPlus():
            return f"Δ+{node.name}"
        case DeltaMinus():
            return f"Δ-{node.name}"
        case Select():
            return f"σ[{node.condition}] {_operand(node.input)}"
        case Project():
            return f"π[{', '.join(map(_item, node.items))}] {_operand(node.input)}"
        case Union() | Difference() | Intersect() | Product() | Join():
            left = show(node.left) if _chains(node) else _operand(node.left)
            return f"{left} {_SIGNS[type(node)]} {_operand(node.right)}"
        case _:
            assert_never(node)


def _chains(node: Binary) -> bool:
    """Whether the left operand is the same operator, so that a ⋈ b ⋈ c needs no parentheses."""
    return type(node.left) is type(node)


def _operand(node: Expression) -> str:
    return f"({show(node)})" if isinstance(node, Binary) else show(node)


def _item(item: Item) -> str:
    value = str(item.value)
    return item.name if value == item.name else f"{item.name} = {value}"

"""How many digits numbers may have, before the point and after it.

Sums and products of decimals have types of their own in every engine.  From the digits of columns and literals this
tells the digits of what is computed from them, or that they are not plain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Digits:
    """The digits of numeric expressions over typed columns."""

    typed: Callable[[exp.Column], str | None]
    """The type of a column; None if it is not known."""

    def places(self, node: Expression) -> int | None:
        """How many decimal places a number may have; None where that is not plain."""
        match node:
            case exp.Column() | exp.Literal():
                return (self.decimal(node) or (0, 0))[1]
            case exp.Null():
                return 0
            case exp.Cast():
                return (types.decimal(types.canonical(node.args["to"])) or (0, 0))[1]
            case exp.Count():
                return 0
            case exp.Add() | exp.Sub():
                return self._most(node.left, node.right)
            case exp.Mul():
                size = self.size(node)
                return None if size is None else size[1]
            case exp.If():
                return self._most(node.args["true"], *([node.args["false"]] if node.args.get("false") else []))
            case exp.Case():
                return self._most(*_outcomes(node))
            case exp.Coalesce():
                return self._most(node.this, *node.expressions)
            case exp.Paren() | exp.Neg() | exp.Sum() | exp.Min() | exp.Max() | exp.Window() | exp.Filter():
                return self.places(node.this)
            case _:
                return None

    def _most(self, *nodes: Expression) -> int | None:
        places = [self.places(n) for n in nodes]
        return None if None in places else max(p for p in places if p is not None)

    def size(self, node: Expression) -> tuple[int, int] | None:
        """How many digits a number may have before the point and after it; None where that is not plain."""
        match node:
            case exp.Paren() | exp.Neg():
                return self.size(node.this)
            case exp.Column():
                digits = self.decimal(node)
                return (20, 0) if digits is None else (digits[0] - digits[1], digits[1])
            case exp.Literal():
                whole, _, part = node.name.partition(".")
                return len(whole), len(part)
            case exp.Null():
                return 0, 0
            case exp.Cast():
                digits = types.decimal(types.canonical(node.args["to"]))
                return (20, 0) if digits is None else (digits[0] - digits[1], digits[1])
            case exp.Mul():
                sides = self._sizes(node.left, node.right)
                return None if sides is None else (sum(w for w, _ in sides) + 1, sum(p for _, p in sides))
            case exp.Add() | exp.Sub():
                return self._widest(1, node.left, node.right)
            case exp.If():
                return self._widest(0, node.args["true"], node.args.get("false") or exp.Null())
            case exp.Case():
                return self._widest(0, *_outcomes(node))
            case exp.Coalesce():
                return self._widest(0, node.this, *node.expressions)
            case _:
                return None

    def _sizes(self, *nodes: Expression) -> list[tuple[int, int]] | None:
        sizes = [self.size(n) for n in nodes]
        return None if None in sizes else [size for size in sizes if size is not None]

    def _widest(self, more: int, *nodes: Expression) -> tuple[int, int] | None:
        sizes = self._sizes(*nodes)
        return None if sizes is None else (max(w for w, _ in sizes) + more, max(p for _, p in sizes))

    def decimal(self, leaf: Expression) -> tuple[int, int] | None:
        """The precision and scale of a decimal column or literal; None for what is no decimal."""
        if isinstance(leaf, exp.Column):
            return types.decimal(self.typed(leaf) or "")
        whole, point, part = leaf.name.partition(".")
        return (len(whole) + len(part), len(part)) if point else None

    def whole(self, node: Expression) -> bool:
        """Whether a number is an integer; no decimal takes part in making it."""
        if isinstance(node, exp.Length):
            return True
        return not any(self.decimal(n) for n in node.find_all(exp.Column, exp.Literal) if not n.args.get("is_string"))


def _outcomes(node: exp.Case) -> list[Expression]:
    """What a CASE may come to."""
    default = node.args.get("default")
    return [*(i.args["true"] for i in node.args["ifs"]), *([default] if default is not None else [])]

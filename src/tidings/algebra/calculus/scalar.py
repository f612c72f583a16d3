"""Scalar expressions over one row's attributes, written as in ``G1 < G2 * G4 + G6``.

The syntax is Python's, cut down to names, constants, arithmetic, comparisons and boolean operators.  There are no
calls and no NULL: the calculus is about sets of plain tuples.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tidings.errors import InvalidExpression

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression over named attributes.

    >>> threshold = Scalar("freq*days + least")
    >>> threshold.evaluate({"freq": 20, "days": 2, "least": 100})
    140
    >>> sorted(threshold.attributes), str(threshold)
    (['days', 'freq', 'least'], 'freq * days + least')
    """

    text: str

    def __post_init__(self) -> None:
        _check(_parse(self.text), self.text)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes the expression reads."""
        return frozenset(n.id for n in ast.walk(_parse(self.text)) if isinstance(n, ast.Name))

    def evaluate(self, row: Mapping[str, Any]) -> Any:
        return _value(_parse(self.text), row)

    def __str__(self) -> str:
        return ast.unparse(_parse(self.text))


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise InvalidExpression(reason=f"{text!r} is not a scalar expression") from error


def _check(node: ast.expr, text: str) -> None:
    """Refuse what :func:`_value` does not know, when the expression is built and not when it runs."""
    match node:
        case ast.Name() | ast.Constant():
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            parts = [left, right]
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(o) in _COMPARE for o in ops):
            parts = [left, *others]
        case ast.BoolOp(values=values):
            parts = values
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            parts = [operand]
        case _:
            raise InvalidExpression(reason=f"{ast.unparse(node)!r} in {text!r} is not part of the scalar language")
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, row: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return row[name]
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, row), _value(right, row))
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(n, row) for n in (left, *others)]
            return all(_COMPARE[type(o)](a, b) for o, a, b in zip(ops, values, values[1:], strict=False))
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(p, row) for p in parts)
        case ast.BoolOp(values=parts):
            return any(_value(p, row) for p in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, row)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, row)
        case _:
            raise AssertionError(f"{ast.dump(node)} was not refused")

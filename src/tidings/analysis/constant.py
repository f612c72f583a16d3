"""Constants in a statement that are values of a type as they stand, so that no engine has to compute them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tidings.analysis.agreement import constant_kind, kind_of
from tidings.ir import types
from tidings.ir.expression import Expression

NO_VALUE = object()
"""What :func:`constant` says of an expression that is none."""


def constant(node: Expression, type: str) -> Any:
    """The Python value of a constant that is one of a type as it stands, else :data:`NO_VALUE`.

    >>> constant(exp.maybe_parse("-5"), "int"), constant(exp.maybe_parse("'5'"), "int") is NO_VALUE
    (-5, True)
    """
    match node:
        case exp.Paren():
            return constant(node.this, type)
        case exp.Null():
            return None
        case exp.Neg(this=exp.Literal()) if not node.this.is_string:
            value = constant(node.this, type)
            return NO_VALUE if value is NO_VALUE else -value
    if constant_kind(node) is None or constant_kind(node) != kind_of(type):
        return NO_VALUE
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Cast() if node.this.is_string:
            moment = datetime.fromisoformat(node.this.name)
            return moment.date() if type == "date" else moment.replace(tzinfo=UTC if type == "timestamp" else None)
        case exp.Literal() if node.is_string:
            return node.name
        case exp.Literal():
            return _number(node.name, type)
        case _:
            return NO_VALUE


def _number(text: str, type: str) -> Any:
    if type in types.INTEGRAL:
        return int(text) if text.isdigit() else NO_VALUE
    precision, scale = types.decimal(type) or (0, 0)
    whole, _, part = text.partition(".")
    return Decimal(text) if len(part) <= scale and len(whole) <= precision - scale else NO_VALUE

"""Constants in a statement that are values of a type as they stand, so that no engine has to compute them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_INTEGER = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,9}\.\d{1,9}")
_KINDS = {**dict.fromkeys(types.INTEGRAL, "number"), "string": "string", "boolean": "boolean", "date": "date"}
_KINDS |= {"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"}

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
    if _kind(node) is None or _kind(node) != ("number" if types.decimal(type) is not None else _KINDS.get(type)):
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


def _kind(node: Expression) -> str | None:
    """The kind of a constant."""
    match node:
        case exp.Null():
            return "null"
        case exp.Boolean():
            return "boolean"
        case exp.Literal() if node.is_string:
            return None if "\0" in node.name else "string"
        case exp.Literal():
            return "number" if _INTEGER.fullmatch(node.name) or _DECIMAL.fullmatch(node.name) else None
        case exp.Cast() if isinstance(node.this, exp.Literal) and not node.args.get("safe"):
            type = types.canonical(node.args["to"])
            if not node.this.is_string:
                return "number" if type in types.INTEGRAL and _INTEGER.fullmatch(node.this.name) else None
            form = {"date": _DATE, "timestamp": _INSTANT, "timestamp_ntz": _INSTANT}.get(type)
            return type if form is not None and form.fullmatch(node.this.name) else None
        case _:
            return None

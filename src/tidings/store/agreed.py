"""Expressions on which both engines agree, so that a commit may evaluate them in this process.

A Spark job takes longer than a commit may.  So conditions and new values of a few rows are computed by a DuckDB in this
process, if every node of the expression is one of those below.  The list is small and every entry of it is tested on
both engines; what is not in it, the database's own engine evaluates.

Counter-examples, for what is left out: Spark divides by zero with an error where DuckDB says NULL; floats are printed
and summed differently; ``'7' = 7`` casts the text in Spark and the number in DuckDB; upper('ß') is 'SS' in Spark only,
so functions of letters are agreed upon for ASCII alone (:attr:`Agreed.ascii`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression, column
from tidings.ir.relation import Column

ROWS = "rows"
"""What the columns of an agreed expression belong to."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_INTEGER = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,9}\.\d{1,9}")
_PRECISION = 36
"""Up to this many digits, sums and products of decimals fit the types of both engines."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_KINDS = {**dict.fromkeys(types.INTEGRAL, "number"), "string": "string", "boolean": "boolean", "date": "date"}
_KINDS |= {"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"}


@dataclass(frozen=True, slots=True)
class Agreed:
    """An expression over the columns of one row, to be evaluated by either engine."""

    expression: Expression
    kind: str
    """What its values are: numbers, strings, booleans, dates, …, or ``null``."""
    whole: bool
    """Whether a number is an integer."""
    ascii: bool
    """Whether the engines agree only if the texts it looks at are ASCII."""

    def fits(self, type: str) -> bool:
        """Whether its value becomes one of a type without a doubt."""
        if self.kind == "null":
            return True
        return kind_of(type) == self.kind and (self.whole or types.decimal(type) is not None or self.kind != "number")


def kind_of(type: str) -> str | None:
    """What the values of a type are; None for types the engines may treat differently."""
    return "number" if types.decimal(type) is not None else _KINDS.get(type)


@lru_cache(maxsize=2048)
def agreed(expression: Expression, columns: tuple[Column, ...], aliases: frozenset[str] = frozenset()) -> Agreed | None:
    """The expression with its columns bound to :data:`ROWS`, or None if the engines may not agree on it.

    ``aliases`` are the names, in lower case, by which it may call the row.

    >>> agreed(exp.maybe_parse("Qty + 1 > 2"), (Column("qty", "int"),)).expression.sql()
    '"rows"."qty" + 1 > 2'
    >>> agreed(exp.maybe_parse("qty / 2 > 2"), (Column("qty", "int"),)) is None
    True
    """
    judge = _Judge({c.name.lower(): c for c in columns}, aliases)
    tree = exp.Tuple(expressions=[expression.copy()])
    kind = judge.kind(tree.expressions[0])
    if kind is None:
        return None
    own: Expression = tree.expressions[0].pop()
    return Agreed(own, kind, kind == "number" and judge.whole(own), judge.ascii)


@dataclass(slots=True)
class _Judge:
    """Goes through an expression, binding its columns on the way."""

    columns: Mapping[str, Column]
    aliases: Collection[str]
    ascii: bool = False
    _types: dict[str, str] = field(default_factory=dict)

    def kind(self, node: Expression) -> str | None:
        match node:
            case exp.Paren():
                return self.kind(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Null() | exp.Boolean() | exp.Cast():
                return _constant(node)
            case exp.Neg():
                return self._only("number", node.this)
            case exp.And() | exp.Or():
                return self._only("boolean", node.left, node.right)
            case exp.Not():
                return self._only("boolean", node.this)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._is_null(node.this)
            case exp.In() if node.expressions and not node.args.get("query"):
                return self._alike("boolean", node.this, *node.expressions)
            case exp.Between():
                return self._alike("boolean", node.this, node.args["low"], node.args["high"])
            case exp.Add() | exp.Sub() | exp.Mul():
                return self._arithmetic(node)
            case exp.Case() if node.this is None:
                return self._case(node)
            case exp.Coalesce():
                return self._alike(None, node.this, *node.expressions)
            case exp.Length():
                return "number" if self.kind(node.this) == "string" else None
            case exp.Lower() | exp.Upper() | exp.Trim() if not (node.expression or node.args.get("position")):
                self.ascii = True
                return self._only("string", node.this)
            case exp.Like():
                plain = isinstance(node.expression, exp.Literal) and "\\" not in node.expression.name
                return "boolean" if plain and self.kind(node.this) == "string" else None
            case _ if isinstance(node, _COMPARISONS):
                return self._alike("boolean", node.this, node.expression)
            case _:
                return None

    def _column(self, node: exp.Column) -> str | None:
        found = self.columns.get(node.name.lower())
        known = not node.table or (node.table.lower() in self.aliases and not node.args.get("db"))
        if found is None or not known:
            return None
        bound = column(ROWS, found.name)
        self._types[found.name] = found.type
        node.replace(bound)
        return kind_of(found.type)

    def _only(self, kind: str, *nodes: Expression) -> str | None:
        """The kind, if all nodes are of it."""
        return kind if all(self.kind(n) in (kind, "null") for n in nodes) else None

    def _alike(self, result: str | None, *nodes: Expression) -> str | None:
        """A result from values of one kind; without one given, a value of that kind."""
        kinds = {self.kind(n) for n in nodes}
        if None in kinds or len(kinds - {"null"}) > 1:
            return None
        return result or next(iter(kinds - {"null"}), "null")

    def _is_null(self, node: Expression) -> str | None:
        """Any column may be held against NULL, of whatever type."""
        if not isinstance(node, exp.Column):
            return "boolean" if self.kind(node) is not None else None
        self._column(node)
        return "boolean" if node.parent is None else None

    def _arithmetic(self, node: Expression) -> str | None:
        if self._only("number", node.args["this"], node.args["expression"]) is None:
            return None
        leaves = [n for n in node.walk() if isinstance(n, exp.Column | exp.Literal)]
        if not any(isinstance(n, exp.Column) for n in leaves):
            return None  # 2147483647 + 1 is an error in Spark, and a bigint in DuckDB
        decimals = [d for n in leaves if (d := self._decimal(n)) is not None]
        if not decimals:
            return "number"
        digits = sum(19 if self._decimal(n) is None else d[0] for n in leaves for d in [self._decimal(n) or (19, 0)])
        return "number" if digits <= _PRECISION else None

    def _decimal(self, leaf: Expression) -> tuple[int, int] | None:
        if isinstance(leaf, exp.Column):
            return types.decimal(self._types[leaf.name])
        whole, point, part = leaf.name.partition(".")
        return (len(whole) + len(part), len(part)) if point else None

    def _case(self, node: exp.Case) -> str | None:
        ifs, default = node.args["ifs"], node.args.get("default")
        if not all(self.kind(i.this) in ("boolean", "null") for i in ifs):
            return None
        return self._alike(None, *(i.args["true"] for i in ifs), *([default] if default is not None else []))

    def whole(self, node: Expression) -> bool:
        """Whether a number is an integer; no decimal takes part in making it."""
        if isinstance(node, exp.Length):
            return True
        return not any(self._decimal(n) for n in node.find_all(exp.Column, exp.Literal) if not n.args.get("is_string"))


def _constant(node: Expression) -> str | None:
    match node:
        case exp.Null():
            return "null"
        case exp.Boolean():
            return "boolean"
        case exp.Literal() if node.is_string:
            return None if "\0" in node.name else "string"
        case exp.Literal():
            return "number" if _INTEGER.fullmatch(node.name) or _DECIMAL.fullmatch(node.name) else None
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string and not node.args.get("safe"):
            type = types.canonical(node.args["to"])
            form = {"date": _DATE, "timestamp": _INSTANT, "timestamp_ntz": _INSTANT}.get(type)
            return type if form is not None and form.fullmatch(node.this.name) else None
        case _:
            return None


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
    if _constant(node) is None or _constant(node) != kind_of(type):
        return NO_VALUE
    match node:
        case exp.Boolean():
            return bool(node.this)
        case exp.Cast():
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

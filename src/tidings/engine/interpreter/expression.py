"""Scalar expressions as functions of a row.

Only what means the same everywhere is known: comparisons of like values, logic, arithmetic of whole numbers, choices.
Floats are passed on and never computed with.  Words of DuckDB (:mod:`tidings.engine.sql.words`) are read again.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tidings.engine.interpreter import values
from tidings.engine.interpreter.values import NotInterpreted, Typed, Value
from tidings.engine.sql.words import Words
from tidings.errors import UnsupportedType
from tidings.ir import types
from tidings.ir.expression import Expression, Ref

_COMPARISONS: dict[type[Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_OPERATIONS: dict[type[Expression], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Mod: values.remainder,
}
_PART, _PARTS = "__part", 16
"""Names of what stands in the places of words, and how many there may be."""
_DATE, _EPOCH = re.compile(r"\d{4}-\d\d-\d\d"), date(1970, 1, 1).toordinal()


class Compiler:
    """Makes functions of rows that have some columns."""

    def __init__(self, columns: Mapping[Ref, Typed]) -> None:
        self.columns = columns
        self._parts: list[list[Expression]] = []
        """What stands in the places of the words that are being compiled, innermost last."""

    def condition(self, node: Expression) -> Value:
        """A condition: the function gives True for the rows that meet it."""
        typed = self.value(node)
        if typed.type not in ("boolean", "void"):
            raise NotInterpreted(f"{typed.type} as a condition")
        return typed.value

    def value(self, node: Expression) -> Typed:
        """An expression as a function of a row."""
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Paren():
                return self.value(node.this)
            case exp.Literal() | exp.Null() | exp.Boolean():
                return _constant(node)
            case exp.And() | exp.Or() | exp.Not() | exp.Is() | exp.In() | exp.Between():
                return Typed("boolean", self._truth(node))
            case exp.NullSafeEQ():
                return Typed("boolean", values.identical(self.value(node.this), self.value(node.expression)))
            case exp.Neg():
                return values.signed(values.with_other_sign, self.value(node.this))
            case exp.Abs():
                return values.signed(values.without_sign, self.value(node.this))
            case exp.If() | exp.Case() | exp.Coalesce():
                return self._choice(node)
            case exp.Greatest() | exp.Least():
                items = [self.value(item) for item in (node.this, *node.expressions)]
                return values.extreme(max if isinstance(node, exp.Greatest) else min, items)
            case exp.Cast():
                return self._cast(node)
            case Words():
                return self._words(node)
            case exp.Anonymous() if str(node.this).lower() == "error":
                return Typed("void", values.fail)
            case _ if type(node) in _COMPARISONS:
                sides = self.value(node.this), self.value(node.expression)
                return Typed("boolean", values.compared(_COMPARISONS[type(node)], *sides))
            case _ if type(node) in _OPERATIONS:
                sides = self.value(node.this), self.value(node.expression)
                return values.calculated(_OPERATIONS[type(node)], *sides)
            case _:
                return self.other(node)

    def other(self, node: Expression) -> Typed:
        """What is not known of a row alone."""
        raise NotInterpreted(type(node).__name__)

    def column(self, node: exp.Column) -> Typed:
        if not node.table and self._parts and node.name.startswith(_PART):
            parts = self._parts.pop()
            try:
                return self.value(parts[int(node.name.removeprefix(_PART))])
            finally:
                self._parts.append(parts)
        known = self.columns.get((node.table, node.name))
        if known is None:
            raise NotInterpreted(node.name)
        return known

    def _words(self, node: Words) -> Typed:
        """DuckDB's words, as the expression that it takes them for."""
        self._parts.append(node.expressions)
        try:
            return self.value(_understood(str(node.this)))
        finally:
            self._parts.pop()

    def _truth(self, node: Expression) -> Value:
        match node:
            case exp.And():
                return values.both(self.condition(node.this), self.condition(node.expression))
            case exp.Or():
                return values.either(self.condition(node.this), self.condition(node.expression))
            case exp.Not():
                return values.negated(self.condition(node.this))
            case exp.Is(args={"expression": exp.Null()}):
                inner = self.value(node.this).value
                return lambda row: inner(row) is None
            case exp.Between():
                this = self.value(node.this)
                low = values.compared(operator.ge, this, self.value(node.args["low"]))
                return values.both(low, values.compared(operator.le, this, self.value(node.args["high"])))
            case exp.In() if node.expressions and not any(node.args.get(a) for a in ("query", "unnest", "field")):
                this = self.value(node.this)
                truth, *others = (values.compared(operator.eq, this, self.value(item)) for item in node.expressions)
                for other in others:
                    truth = values.either(truth, other)
                return truth
            case _:
                raise NotInterpreted(type(node).__name__)

    def _choice(self, node: Expression) -> Typed:
        branches: list[tuple[Value | None, Typed]] = []
        if isinstance(node, exp.Coalesce):
            for typed in map(self.value, (node.this, *node.expressions)):
                branches.append((_is_known(typed.value), typed))
        else:
            if isinstance(node, exp.Case) and node.this is not None:
                raise NotInterpreted("CASE of a value")
            ifs = node.args["ifs"] if isinstance(node, exp.Case) else [node]
            branches += [(self.condition(i.this), self.value(i.args["true"])) for i in ifs]
            last = node.args.get("default" if isinstance(node, exp.Case) else "false")
            if last is not None:
                branches.append((None, self.value(last)))
        target = values.common_type([typed for _, typed in branches])
        return Typed(target, values.chosen([(c, values.converted(typed, target)) for c, typed in branches]))

    def _cast(self, node: exp.Cast) -> Typed:
        if node.args.get("safe") or node.args.get("format"):
            raise NotInterpreted("a CAST of its own kind")
        try:
            target = types.canonical(node.to)
        except UnsupportedType:
            raise NotInterpreted(str(node.to)) from None
        if target == "date" and isinstance(node.this, exp.Literal) and _DATE.fullmatch(node.this.name):
            return values.constant(_day(node.this.name), "date")
        return Typed(target, values.converted(self.value(node.this), target))


@lru_cache(maxsize=4096)
def _understood(words: str) -> Expression:
    """Words as an expression, with a column for each part."""
    try:
        return parse_one(words.format(*(f"{_PART}{n}" for n in range(_PARTS))), dialect="duckdb")
    except (SqlglotError, IndexError):
        raise NotInterpreted(words) from None


def _constant(node: Expression) -> Typed:
    match node:
        case exp.Null():
            return values.constant(None, "void")
        case exp.Boolean():
            return values.constant(bool(node.this), "boolean")
        case exp.Literal(is_string=True):
            return values.constant(node.name, "string")
        case _ if node.name.isdigit() and int(node.name) < 1 << 63:
            number = int(node.name)
            return values.constant(number, "int" if number < 1 << 31 else "bigint", is_literal=True)
        case _ if (decimal := types.roomy_decimal(node.name)) is not None:
            return values.constant(Decimal(node.name), decimal)
        case _:
            raise NotInterpreted(node.name)


def _day(text: str) -> int:
    """The number of a day, as rows have it."""
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH
    except ValueError:
        raise NotInterpreted(text) from None


def _is_known(value: Value) -> Value:
    return lambda row: value(row) is not None

"""Aggregates and windows, as functions of the rows of a group or partition.

Sums are exact: whole numbers, and decimals with as many digits as engines have.  One that does not fit is left to the
engine, which refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal, Inexact
from typing import Any, NamedTuple, TypeAlias

from sqlglot import exp

from tidings.engine.interpreter.expression import Compiler
from tidings.engine.interpreter.values import MOST_DIGITS, LeftToEngine, NotInterpreted, Row, Typed, Value, column
from tidings.ir import types
from tidings.ir.expression import Expression, Ref

Fold: TypeAlias = Callable[[Sequence[Row]], Any]
"""What an aggregate is over some rows."""

_EXACT = Context(prec=2 * MOST_DIGITS, traps=[Inexact])
_LARGEST_SUM = {"bigint": (1 << 63) - 1}
_COUNTED = (exp.Sum, exp.Count, exp.LogicalOr)


class Aggregates(Compiler):
    """Makes functions of what aggregates gave; the aggregates in them are collected."""

    def __init__(self, columns: Mapping[Ref, Typed]) -> None:
        super().__init__({})
        self.folds: list[Fold] = []
        self._rows = columns

    def other(self, node: Expression) -> Typed:
        if not isinstance(node, _COUNTED):
            return super().other(node)
        self.columns, outside = self._rows, self.columns
        try:
            type, fold = self._fold(node)
        finally:
            self.columns = outside
        self.folds.append(fold)
        return column(len(self.folds) - 1, type)

    def _fold(self, node: Expression) -> tuple[str, Fold]:
        if isinstance(node, exp.Count):
            return "bigint", self._count(node)
        inner = self.value(node.this)
        if isinstance(node, exp.LogicalOr):
            return "boolean", _any_true(inner)
        type = sum_type(inner)
        return type, lambda rows: total(map(inner.value, rows), type)

    def _count(self, node: exp.Count) -> Fold:
        if isinstance(node.this, exp.Star) or (isinstance(node.this, exp.Literal) and not node.expressions):
            return len
        if isinstance(node.this, exp.Distinct) or node.expressions:
            raise NotInterpreted("a count of several things")
        value = self.value(node.this).value
        return lambda rows: sum(value(row) is not None for row in rows)


def _any_true(inner: Typed) -> Fold:
    if inner.type not in ("boolean", "void"):
        raise NotInterpreted(f"{inner.type} as a condition")

    def fold(rows: Sequence[Row]) -> bool | None:
        truths = [inner.value(row) for row in rows]
        return True if True in truths else False if False in truths else None

    return fold


def sum_type(inner: Typed) -> str:
    """The type of a sum."""
    if inner.type in types.INTEGRAL:
        return "bigint"
    digits = types.decimal(inner.type)
    if digits is None:
        raise NotInterpreted(f"a sum of {inner.type}")
    return f"decimal({MOST_DIGITS},{digits[1]})"


def total(numbers: Iterable[Any], type: str) -> Any:
    """The sum of those that are not NULL; NULL if all are."""
    result: Any = None
    for number in numbers:
        if number is not None:
            result = number if result is None else added(result, number, type)
    return result


def added(one: Any, other: Any, type: str) -> Any:
    """Two numbers of a sum of some type."""
    if not isinstance(one, Decimal):
        result = one + other
        if abs(result) > _LARGEST_SUM[type]:
            raise LeftToEngine("a sum that is too large")
        return result
    exact = _EXACT.add(one, other)
    digits = types.decimal(type) or (0, 0)
    if abs(exact) >= 10 ** (digits[0] - digits[1]):
        raise LeftToEngine("a sum that is too large")
    return exact


class WindowFunction(NamedTuple):
    """A window function over partitions in an order."""

    partition: tuple[Value, ...]
    order: Value
    type: str
    over: Callable[[list[Row]], list[Any]]
    """What it gives for each row of a partition, in its order."""

    def run(self, rows: Sequence[Row]) -> list[Any]:
        """What it gives for each row."""
        partitions: dict[Row, list[int]] = {}
        for place, row in enumerate(rows):
            partitions.setdefault(tuple(key(row) for key in self.partition), []).append(place)
        results: list[Any] = [None] * len(rows)
        for places in partitions.values():
            orders = {place: self.order(rows[place]) for place in places}
            if None in orders.values() or len(set(orders.values())) < len(orders):
                raise LeftToEngine("rows of one place in an order")
            places.sort(key=orders.__getitem__)
            given = self.over([rows[place] for place in places])
            for place, value in zip(places, given, strict=True):
                results[place] = value
        return results


def window_function(node: Expression, columns: Mapping[Ref, Typed]) -> WindowFunction:
    """A running sum, or the value of the next row."""
    if not isinstance(node, exp.Window) or node.args.get("spec") or node.args.get("order") is None:
        raise NotInterpreted("a window of its own kind")
    compiler = Compiler(columns)
    ordered = node.args["order"].expressions
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        raise NotInterpreted("an order of its own kind")
    order = compiler.value(ordered[0].this)
    if order.type not in types.INTEGRAL:
        raise NotInterpreted(f"an order by {order.type}")
    keys = [compiler.value(key) for key in node.args.get("partition_by") or ()]
    for key in keys:
        require_key(key.type)
    partition = tuple(key.value for key in keys)
    match node.this:
        case exp.Sum():
            inner = compiler.value(node.this.this)
            type = sum_type(inner)
            return WindowFunction(partition, order.value, type, lambda rows: _running(inner, type, rows))
        case exp.Lead() if not node.this.args.get("offset") and not node.this.args.get("default"):
            inner = compiler.value(node.this.this)
            return WindowFunction(partition, order.value, inner.type, lambda rows: _next(inner, rows))
        case _:
            raise NotInterpreted(str(node.this.key))


def _running(inner: Typed, type: str, rows: list[Row]) -> list[Any]:
    sums: list[Any] = []
    for row in rows:
        sums.append(total((sums[-1] if sums else None, inner.value(row)), type))
    return sums


def _next(inner: Typed, rows: list[Row]) -> list[Any]:
    return [*(inner.value(row) for row in rows[1:]), None]


def require_key(type: str) -> str:
    """A type by whose values rows are told apart; floats, which differ from themselves, are left to the engine."""
    if type in ("float", "double"):
        raise NotInterpreted(f"groups by {type}")
    return type

"""Conditions on one tuple, written in SQL, with its three-valued logic.

Any condition of SQL can be part of an expression that becomes SQL.  Here those are evaluated that are made of
attributes, constants, comparisons, logic, arithmetic, ``IN``, ``BETWEEN`` and ``IS NULL``; others are refused then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, conjunction, conjuncts

_COMPARISONS: dict[type[Expression], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_ARITHMETIC: dict[type[Expression], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
    exp.Mod: lambda left, right: left - right * int(left / right),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition by its text; equal texts are equal conditions.

    >>> rich = Condition.of("salary>32 and name is not null")
    >>> str(rich), sorted(rich.attributes)
    ('salary > 32 AND NOT name IS NULL', ['name', 'salary'])
    >>> [rich.holds({"salary": salary, "name": "Joe"}) for salary in (33, 30, None)]
    [True, False, False]
    """

    text: str

    @staticmethod
    def of(text: str | Condition) -> Condition:
        return text if isinstance(text, Condition) else Condition(_parsed(text).sql(DIALECT))

    @staticmethod
    def all_of(conditions: Iterable[Condition]) -> Condition | None:
        """The condition that all hold; None if there are none."""
        trees = [part for condition in conditions for part in conjuncts(condition.tree)]
        return Condition(conjunction(trees).sql(DIALECT)) if trees else None

    @property
    def tree(self) -> Expression:
        return _parsed(self.text)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that it reads."""
        return frozenset(column.name for column in self.tree.find_all(exp.Column))

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions that must all hold for this one to hold."""
        return tuple(Condition(part.unnest().sql(DIALECT)) for part in conjuncts(self.tree))

    def renamed(self, names: Mapping[str, str]) -> Condition:
        """The condition on attributes of other names."""

        def other(node: Expression) -> Expression:
            if isinstance(node, exp.Column) and node.name in names:
                return exp.column(exp.to_identifier(names[node.name], quoted=True))
            return node

        return Condition(self.tree.copy().transform(other).sql(DIALECT))

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether the condition is true; not if it is unknown."""
        try:
            return _value(self.tree, row) is True
        except (TypeError, ArithmeticError) as error:
            raise InvalidExpression(reason=f"{self.text} cannot be evaluated for {dict(row)}: {error}") from None

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Expression:
    try:
        return sqlglot.parse_one(text, read=DIALECT)
    except (SqlglotError, RecursionError) as error:
        raise InvalidExpression(reason=f"{text!r} is not a condition: {str(error).splitlines()[0]}") from None


def _value(node: Expression, row: Mapping[str, Any]) -> Any:
    """The value of an expression; None is NULL, and unknown among truth values."""
    match node:
        case exp.Column():
            return row[node.name]
        case exp.Paren():
            return _value(node.this, row)
        case exp.Literal():
            return node.name if node.is_string else _number(node.name)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.And():
            return _both(_value(node.this, row), _value(node.expression, row))
        case exp.Or():
            return _negated(_both(_negated(_value(node.this, row)), _negated(_value(node.expression, row))))
        case exp.Not():
            return _negated(_value(node.this, row))
        case exp.Is(args={"expression": exp.Null()}):
            return _value(node.this, row) is None
        case exp.NullSafeEQ():
            return _value(node.this, row) == _value(node.expression, row)
        case exp.Neg():
            return _strict(operator.neg, _value(node.this, row))
        case exp.Between():
            this, low, high = (_value(part, row) for part in (node.this, node.args["low"], node.args["high"]))
            return _both(_strict(operator.ge, this, low), _strict(operator.le, this, high))
        case exp.In() if node.expressions:
            this = _value(node.this, row)
            equal = [_negated(_strict(operator.eq, this, _value(item, row))) for item in node.expressions]
            return _negated(all(equal) if None not in equal or False in equal else None)
        case _:
            function = _COMPARISONS.get(type(node)) or _ARITHMETIC.get(type(node))
            if function is None:
                raise InvalidExpression(reason=f"{node.sql(DIALECT)} is known to SQL, and not evaluated here")
            return _strict(function, _value(node.this, row), _value(node.expression, row))


def _number(text: str) -> int | Decimal | float:
    if text.isdigit():
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _strict(function: Callable[..., Any], *values: Any) -> Any:
    """NULL if a value is NULL; an exact number beside a float becomes one."""
    if any(value is None for value in values):
        return None
    if any(isinstance(value, float) for value in values):
        values = tuple(float(value) if isinstance(value, Decimal) else value for value in values)
    return function(*values)

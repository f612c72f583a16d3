"""Expressions over one row that a commit may evaluate in this process, because both engines agree on them.

See :mod:`tidings.analysis.agreement` for what they agree on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlglot import exp

from tidings.analysis.agreement import Judge, constant_kind, kind_of
from tidings.ir import types
from tidings.ir.expression import Expression, column
from tidings.ir.relation import Column

ROWS = "rows"
"""What the columns of an agreed expression belong to."""


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


@lru_cache(maxsize=2048)
def agreed(expression: Expression, columns: tuple[Column, ...], aliases: frozenset[str] = frozenset()) -> Agreed | None:
    """The expression with its columns bound to :data:`ROWS`, or None if the engines may not agree on it.

    ``aliases`` are the names, in lower case, by which it may call the row.

    >>> agreed(exp.maybe_parse("Qty + 1 > 2"), (Column("qty", "int"),)).expression.sql()
    '"rows"."qty" + 1 > 2'
    >>> agreed(exp.maybe_parse("qty / 2 > 2"), (Column("qty", "int"),)) is None
    True
    """
    known = {c.name.lower(): c for c in columns}
    tree = exp.Tuple(expressions=[expression.copy()])
    for node in list(tree.find_all(exp.Column)):
        own_row = not node.table or (node.table.lower() in aliases and not node.args.get("db"))
        if node.name.lower() not in known or not own_row:
            return None
        node.replace(column(ROWS, known[node.name.lower()].name))
    own: Expression = tree.expressions[0].pop()
    judge = Judge(lambda node: known[node.name.lower()].type)
    kind = judge.kind(own)
    return None if kind is None else Agreed(own, kind, kind == "number" and judge.whole(own), judge.ascii)


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

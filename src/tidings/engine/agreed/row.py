"""Expressions over one row that a commit may evaluate in this process, because both engines agree on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from tidings.engine.agreed.expression import Translator
from tidings.engine.agreed.spans import INTERVALS
from tidings.engine.agreed.term import NotAgreed, TypedExpression
from tidings.ir import types
from tidings.ir.expression import Expression, column
from tidings.ir.relation import Column

ROWS = "rows"
"""What the columns of an agreed expression belong to."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """An expression over the columns of one row, in DuckDB's words."""

    expression: Expression
    type: str
    """The type that Spark gives it."""

    def fits(self, type: str) -> bool:
        """Whether its value becomes one of a type without a doubt."""
        if self.type in (type, "void"):
            return True
        return TypedExpression(self.expression, self.type).is_exact and (
            types.decimal(type) is not None or (type in types.INTEGRAL and self.type in types.INTEGRAL)
        )


@lru_cache(maxsize=2048)
def agreed(expression: Expression, columns: tuple[Column, ...], aliases: frozenset[str] = frozenset()) -> Agreed | None:
    """The expression with its columns bound to :data:`ROWS`, or None if the engines may not agree on it.

    ``aliases`` are the names, in lower case, by which it may call the row.

    >>> agreed(exp.maybe_parse("Qty + 1 > 2"), (Column("qty", "int"),)).type
    'boolean'
    >>> agreed(exp.maybe_parse("exp(qty) > 2"), (Column("qty", "int"),)) is None
    True
    """
    known = {c.name.lower(): c for c in columns}
    tree = exp.Tuple(expressions=[expression.copy()])
    for node in list(tree.find_all(exp.Column)):
        of_this_row = not node.table or (node.table.lower() in aliases and not node.args.get("db"))
        if node.name.lower() not in known or not of_this_row:
            return None
        node.replace(column(ROWS, known[node.name.lower()].name))
    bound: Expression = tree.expressions[0].pop()
    try:
        term = Translator(lambda node: known[node.name.lower()].type).term(bound)
    except NotAgreed:
        return None
    if term.type in INTERVALS:
        return None
    return Agreed(term.sql, term.type)

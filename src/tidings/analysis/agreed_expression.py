"""Expressions over one row that a commit may evaluate in this process, because both engines agree on them.

See :mod:`tidings.analysis.agreement` for what they agree on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from tidings.analysis.agreement import Judge, kind_of
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
        of_this_row = not node.table or (node.table.lower() in aliases and not node.args.get("db"))
        if node.name.lower() not in known or not of_this_row:
            return None
        node.replace(column(ROWS, known[node.name.lower()].name))
    bound: Expression = tree.expressions[0].pop()
    judge = Judge(lambda node: known[node.name.lower()].type)
    kind = judge.kind(bound)
    return None if kind is None else Agreed(bound, kind, kind == "number" and judge.whole(bound), judge.ascii)

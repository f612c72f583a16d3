"""Comparisons with the rows of a subquery: ``IN``, ``ANY``, ``SOME`` and ``ALL``, of one value or of several.

All are one question: does some row of the subquery meet a comparison?  ``x > ALL (…)`` asks whether none meets
``x <= …``.  The answer is unknown where none does, but a NULL leaves open whether one may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from tidings.ir.expression import Expression, operand

_COMPLEMENTS: dict[type[Expression], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """How values are compared with the columns of a row, one by one."""

    operator: type[exp.Binary]

    def holds(self, values: list[Expression], items: list[Expression]) -> list[Expression]:
        """The conditions under which a row meets the comparison; columns beyond the values are left alone."""
        pairs = zip(values, items, strict=False)
        return [self.operator(this=operand(w), expression=operand(i)) for w, i in pairs]

    def may_hold(self, values: list[Expression], items: list[Expression]) -> list[Expression]:
        """The conditions under which it meets the comparison or a NULL leaves that open, as NOT IN must assume."""
        conditions: list[Expression] = []
        for equal, w, i in zip(self.holds(values, items), values, items, strict=False):
            unknown = (exp.Is(this=operand(e), expression=exp.Null()) for e in (w, i))
            conditions.append(exp.Paren(this=exp.or_(equal, *unknown)))
        return conditions


class Quantified(NamedTuple):
    """``wanted operator ANY (query)``, or its negation."""

    value: Expression
    comparison: Comparison
    query: Expression
    negated: bool


def quantified(node: Expression) -> Quantified | None:
    """A comparison with ANY, SOME or ALL of a subquery, as a question about some row."""
    if type(node) not in _COMPLEMENTS or not isinstance(node, exp.Binary):
        return None
    side = node.expression
    if not isinstance(side, exp.Any | exp.All) or side.find(exp.Query) is None:
        return None
    whole = isinstance(side, exp.All)
    return Quantified(node.this, Comparison(_COMPLEMENTS[type(node)] if whole else type(node)), side.this, whole)


def row(value: Expression) -> list[Expression]:
    """The values of a row, or the one value."""
    match value.unnest():
        case exp.Tuple() as values:
            return list(values.expressions)
        case exp.Struct() as values:
            return [e.expression if isinstance(e, exp.PropertyEQ) else e for e in values.expressions]
        case _:
            return [value]

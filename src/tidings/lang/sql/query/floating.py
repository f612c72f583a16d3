"""Aggregates of floating numbers, taken in the order of the numbers.

``1e20 + 1 - 1e20`` is 0 or 1 by the order of addition, and engines add in whichever order rows come.  A group that is
evaluated twice must give the same digits twice, or the removal of its old row would name a row that never was.  So
``sum(x)`` over floating numbers becomes ``sum(x ORDER BY x)``, and likewise averages, variances, skewness and kurtosis,
covariances, correlations and regressions.

A window without an order gets that of the numbers.  One with an order and a frame of values keeps its ties as they
come: there the last digits may still depend on how they fall.

An average of ``int`` or smaller is left as it is: its sum is exact up to 2^53.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.relation import Field
from tidings.lang.sql.context import Context

_VARIANCES = exp.Stddev | exp.StddevPop | exp.StddevSamp | exp.Variance | exp.VariancePop | exp.Skewness | exp.Kurtosis
_REGRESSIONS = exp.RegrIntercept | exp.RegrR2 | exp.RegrSlope | exp.RegrSxx | exp.RegrSxy | exp.RegrSyy
_OF_PAIRS = exp.Corr | exp.CovarPop | exp.CovarSamp | _REGRESSIONS
_FLOATING = exp.Sum | exp.Avg | _VARIANCES
_SMALL = frozenset({"tinyint", "smallint", "int"})


def in_fixed_order(ctx: Context, call: Expression, type: str, fields: tuple[Field, ...]) -> Expression:
    """An aggregate of a type over the columns of a plan, in a fixed order if its digits depend on one."""
    inner = call.this if isinstance(call, exp.Filter) else call
    if isinstance(inner, _OF_PAIRS) and not isinstance(inner.this, exp.Distinct):
        return _pairs_in_order(call, inner)
    if type != "double" or not isinstance(inner, _FLOATING):
        return call
    once = isinstance(inner.this, exp.Distinct)
    value = inner.this.expressions[0] if once else inner.this
    if isinstance(inner, exp.Avg) and ctx.types([value], fields, call)[0] in _SMALL:
        return call
    if isinstance(call, exp.Filter):
        value = exp.Case(ifs=[exp.If(this=call.expression.this.copy(), true=value.copy())])
    taken = exp.Distinct(expressions=[value.copy()]) if once else value.copy()
    order = exp.Ordered(this=value.copy(), nulls_first=True)
    return inner.__class__(this=exp.Order(this=taken, expressions=[order]))


def _pairs_in_order(call: Expression, inner: Expression) -> Expression:
    """An aggregate of two arguments, in the order of the first and then of the second."""
    values = [inner.this, inner.args["expression"]]
    if isinstance(call, exp.Filter):
        test = call.expression.this
        values = [exp.Case(ifs=[exp.If(this=test.copy(), true=v.copy())]) for v in values]
    order = [exp.Ordered(this=v.copy(), nulls_first=True) for v in values]
    return inner.__class__(this=values[0].copy(), expression=exp.Order(this=values[1].copy(), expressions=order))


def window_in_fixed_order(window: Expression, type: str) -> Expression:
    """A window function of a type that takes the numbers, or pairs, of a whole partition in their order."""
    call = window.this.this if isinstance(window.this, exp.Filter) else window.this
    ordered = window.args.get("order") is not None or window.args.get("spec") is not None
    if (
        ordered
        or type != "double"
        or not isinstance(call, _FLOATING | _OF_PAIRS)
        or isinstance(call.this, exp.Distinct)
    ):
        return window
    values = [call.this, call.expression] if isinstance(call, _OF_PAIRS) else [call.this]
    tree = window.copy()
    tree.set("order", exp.Order(expressions=[exp.Ordered(this=v.copy(), nulls_first=True) for v in values]))
    ends = {"start": "UNBOUNDED", "start_side": "PRECEDING", "end": "UNBOUNDED", "end_side": "FOLLOWING"}
    tree.set("spec", exp.WindowSpec(kind="ROWS", **ends))
    return tree

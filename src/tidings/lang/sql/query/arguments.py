"""How many arguments an aggregate has: the parser takes none, or too many, where DISTINCT stands before them."""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context

_OF_ONE = exp.Max | exp.Min | exp.Sum | exp.Avg | exp.ArrayAgg | exp.ArrayUniqueAgg | exp.GroupConcat | exp.Median


def check_arguments(ctx: Context, call: Expression) -> None:
    """Refuse an aggregate of nothing, and one of several values that takes one."""
    if not isinstance(call, exp.AggFunc):
        return
    argument = call.this.this if isinstance(call.this, exp.Order) else call.this
    distinct = isinstance(argument, exp.Distinct)
    many = [e for e in (argument.expressions if distinct else [argument, *call.expressions]) if e is not None]
    name = functions.function_name(call)
    if not many and (distinct or isinstance(call, exp.Count | exp.GroupConcat)):
        hint = "count(*) counts rows" if isinstance(call, exp.Count) else None
        raise InvalidExpression(ctx.place(call) or _around(ctx, call), hint, reason=f"{name}() has no argument")
    if isinstance(call, _OF_ONE) and len(many) > 1:
        raise InvalidExpression(ctx.place(call), reason=f"{name} takes one argument, not {len(many)}")


def _around(ctx: Context, call: Expression) -> Place | None:
    return None if call.parent is None else ctx.place(call.parent)

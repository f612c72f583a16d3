"""How many arguments an aggregate has: the parser takes none, or too many, where DISTINCT stands before them."""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context

_NAMES_OF_ONE = frozenset(
    "max min sum avg mean collect_list collect_set array_agg median count_if bool_and bool_or".split()
)
_OF_ONE = exp.Max | exp.Min | exp.Sum | exp.Avg | exp.ArrayAgg | exp.ArrayUniqueAgg | exp.GroupConcat | exp.Median


def check_arguments(ctx: Context, call: Expression) -> None:
    """Refuse an aggregate of nothing, and one of several values that takes one."""
    if isinstance(call, exp.Anonymous) and str(call.this).lower() in _NAMES_OF_ONE and len(call.expressions) != 1:
        raise _too_many(ctx, call, str(call.this).lower(), len(call.expressions))
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
        raise _too_many(ctx, call, name or "", len(many))


def _too_many(ctx: Context, call: Expression, name: str, count: int) -> InvalidExpression:
    return InvalidExpression(ctx.place(call), reason=f"{name} takes one argument, not {count}")


def _around(ctx: Context, call: Expression) -> Place | None:
    return None if call.parent is None else ctx.place(call.parent)

"""Binding scalar expressions: every column to the relation it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import NonDeterministic, UnsupportedType
from tidings.errors.query import NO_UNSIGNED, UNSIGNED
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.arguments import check_arguments
from tidings.lang.sql.query.clock import refused as clock_refused
from tidings.lang.sql.query.outer_aggregates import captured
from tidings.lang.sql.query.outer_aggregates import shown as shown_aggregate
from tidings.lang.sql.query.scope import Scope


def bind_expression(ctx: Context, node: Expression, scope: Scope, named: Mapping[str, Expression]) -> Expression:
    """Bind every column; names of earlier items of the same SELECT list serve where no column fits."""
    check(ctx, node)
    return _bound(ctx, node, scope, named)


def bind_condition(ctx: Context, node: Expression, scope: Scope, named: Mapping[str, Expression]) -> Expression:
    """Bind a condition that rows must meet; unlike other expressions it may read the clock."""
    check(ctx, node, clock=True)
    return _bound(ctx, node, scope, named)


def _bound(ctx: Context, node: Expression, scope: Scope, named: Mapping[str, Expression]) -> Expression:

    def bound(part: Expression) -> Expression:
        if not isinstance(part, exp.Column):
            return captured(ctx, part, scope, named) or part
        names, at = [p.name for p in part.parts], ctx.place(part)
        if names[0].lower() in named and scope.locate(names, at) is None:
            expression = named[names[0].lower()]
            for name in names[1:]:
                expression = exp.Dot(this=expression.copy(), expression=exp.to_identifier(name, quoted=True))
            return exp.Paren(this=expression.copy())
        return scope.resolve(names, at).copy()

    return node.copy().transform(bound)


def for_analysis(node: Expression, scope: Scope, named: Mapping[str, Expression]) -> Expression:
    """The expression as the analyzer may see it: names of outer queries are NULLs of their types."""
    if scope.outer is None:
        return node.copy()

    def seen(part: Expression) -> Expression:
        if not isinstance(part, exp.Column):
            return shown_aggregate(part, scope, named) or part
        if isinstance(part.this, exp.Star):
            return part
        names = [p.name for p in part.parts]
        if names[0].lower() in named or scope.locate(names) is not None:
            return part
        shown = scope.outer.shown(names) if scope.outer is not None else None
        return part if shown is None else shown

    return node.copy().transform(seen)


def check(ctx: Context, node: Expression, *, clock: bool = False) -> None:
    """Refuse what has no meaning row by row; ``clock`` says that the clock may be read."""
    for part in node.walk():
        if isinstance(part, exp.Query):
            raise ctx.unsupported("a subquery here", part)
        if isinstance(part, exp.Placeholder | exp.Parameter):
            raise ctx.unsupported("a parameter", part)
        if isinstance(part, exp.Columns):
            raise ctx.unsupported("COLUMNS(…)", part)
        if isinstance(part, exp.DataType) and str(getattr(part.this, "value", "")).lower() in UNSIGNED:
            raise UnsupportedType(ctx.place(part) or ctx.place(node), type=part.sql(DIALECT).lower(), hint=NO_UNSIGNED)
        ctx.check_function(part)
        ctx.check_type(part)
        check_arguments(ctx, part)
        if isinstance(part, exp.Star) and not isinstance(part.parent, exp.AggFunc):
            raise ctx.unsupported("a star inside an expression", part)
        if functions.is_non_deterministic(part):
            hint = "compute the value outside and store it in a column"
            raise NonDeterministic(ctx.place(part), hint, function=_call(part))
        if functions.reads_clock(part) and not (clock and _row_by_row(part)):
            raise clock_refused(ctx, part)
        if functions.depends_on_order(part) and not _is_windowed(part):
            raise NonDeterministic(ctx.place(part), _ORDER_HINTS.get(type(part), _ORDER_HINT), function=_call(part))
        if functions.is_generator(part):
            raise ctx.unsupported("a function that makes rows", part)


def _row_by_row(node: Expression) -> bool:
    """Whether a node stands in no aggregate and no window function."""
    around = node.parent
    while around is not None and not functions.is_aggregate(around) and not functions.is_window(around):
        around = around.parent
    return around is None


def _is_windowed(call: Expression) -> bool:
    """Whether a call is the function of a window, perhaps with IGNORE NULLS."""
    around = call.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls):
        around = around.parent
    return isinstance(around, exp.Window)


_ORDER_HINT = "say which row, as in max_by(value, order)"
_ORDER_HINTS: dict[type[Expression], str] = {exp.ApproxQuantile: "percentile(value, share) is exact"}


def _call(node: Expression) -> str:
    return f"{functions.function_name(node)}()"

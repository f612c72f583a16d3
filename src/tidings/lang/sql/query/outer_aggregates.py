"""Aggregates inside a subquery that are over the rows of the query around it, as ``max(t.b)`` in a subquery of ``t``.

An aggregate whose columns are all those of the query around is one of that query, as in SQL since 1992.  To the
subquery it is a value of the query around like a column of it: it stands as such while the subquery is bound, and the
query around computes it with its other aggregates before it asks the subquery.  So it can be used where the query
around is grouped already: in its list, HAVING, QUALIFY and ORDER BY.
"""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, Ref, typed_null
from tidings.ir.relation import Field
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.aggregates import canonical
from tidings.lang.sql.query.scope import Outer, Scope, Used
from tidings.lang.sql.query.select.grouping import grouping_type
from tidings.lang.sql.query.select.stages import is_aggregate_call, is_taken_whole

_ALIAS = "__aggregate"


def captured(ctx: Context, node: Expression, scope: Scope, named: Container[str]) -> Expression | None:
    """What stands in a subquery for an aggregate of the query around; None for anything else."""
    outer = scope.outer
    if outer is None or not _is_of_outer(node, scope, outer, named):
        return None
    ref = _ref(node)
    if ref not in outer.used:
        outer.used[ref] = Used(Field(*ref, _type(ctx, node, outer)), node.copy())
    stand = outer.stands.get(ref)
    return typed_null(outer.used[ref].field.type) if stand is None else stand.expression


def shown(node: Expression, scope: Scope, named: Container[str]) -> Expression | None:
    """A NULL of its type for an aggregate that was captured, for the analyzer."""
    outer = scope.outer
    if outer is None or not _is_of_outer(node, scope, outer, named):
        return None
    used = outer.used.get(_ref(node))
    return None if used is None else typed_null(used.field.type)


def require_grouped(ctx: Context, marker: Expression) -> None:
    """Refuse a subquery that uses an aggregate of the query around while that query is not grouped yet."""
    call = next((n for n in marker.walk() if is_aggregate_call(n)), None)
    if call is not None:
        name = functions.function_name(call) or "the call"
        reason = f"{name}() in the subquery is an aggregate of the query around, and that is not grouped here"
        hint = "use it in the list, HAVING, QUALIFY or ORDER BY; or compute it in a subquery in FROM"
        raise InvalidExpression(ctx.place(call), hint, reason=reason)


def _is_of_outer(node: Expression, scope: Scope, outer: Outer, named: Container[str]) -> bool:
    """Whether a node is an aggregate call whose columns are all those of the query around."""
    if not is_taken_whole(node):
        return False
    columns = [[p.name for p in c.parts] for c in node.find_all(exp.Column) if not isinstance(c.this, exp.Star)]
    own = (c[0].lower() in named or scope.locate(c) is not None for c in columns)
    return bool(columns) and not any(own) and all(outer.locate(c, None) is not None for c in columns)


def _ref(call: Expression) -> Ref:
    return _ALIAS, call.sql(DIALECT)


def _type(ctx: Context, call: Expression, outer: Outer) -> str:
    """The type of an aggregate over columns of the query around."""

    items: dict[tuple[str, ...], Expression] = {}

    def item(part: Expression) -> Expression:
        if not isinstance(part, exp.Column):
            return part
        names = [p.name for p in part.parts]
        items.setdefault(tuple(names), outer.shown(names) or part)
        return exp.column(f"c{list(items).index(tuple(names))}", "r")

    over_items = canonical(ctx, call.copy().transform(item))
    rows = exp.select(*(e.as_(f"c{n}") for n, e in enumerate(items.values()))).subquery("r")
    return grouping_type(call) or ctx.analyze(exp.select(over_items.as_("a")).from_(rows), call)[0].type

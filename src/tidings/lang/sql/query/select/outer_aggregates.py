"""Aggregates inside a subquery that are over the rows of the query around it, as ``max(t.b)`` in a subquery of ``t``.

They are of the query around, which would have to compute them before the subquery is asked.  Refused by name.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.scope import Scope
from tidings.lang.sql.query.select.stages import is_aggregate_call

CONSTRUCT = "an aggregate of the query around, inside a subquery"


def refuse_outer_aggregates(ctx: Context, node: exp.Select, scope: Scope) -> None:
    """Refuse aggregates in a subquery whose columns are all those of the query around."""
    if scope.outer is None:
        return
    clauses = (node.args.get(a) for a in ("where", "having", "qualify"))
    for part in [*node.expressions, *(c for c in clauses if c is not None)]:
        for call in part.walk(prune=lambda n: isinstance(n, exp.Query)):
            if is_aggregate_call(call) and _is_of_outer(call, scope):
                raise ctx.unsupported(CONSTRUCT, call)


def _is_of_outer(call: Expression, scope: Scope) -> bool:
    columns = [[p.name for p in c.parts] for c in call.find_all(exp.Column) if not isinstance(c.this, exp.Star)]
    outer = scope.outer
    assert outer is not None
    return bool(columns) and all(scope.locate(c) is None and outer.locate(c, None) is not None for c in columns)

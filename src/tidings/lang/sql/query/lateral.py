"""Subqueries in FROM that use more than their own sources: LATERAL, and those in the FROM of a subquery.

Like subqueries in expressions they are bound with a domain of the values they use (see
:mod:`tidings.lang.sql.query.subquery.dependent`), and tied to what they use by conditions on those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.relation import Relation
from tidings.lang.sql.names import check_reserved
from tidings.lang.sql.query.expression import bind_expression
from tidings.lang.sql.query.outer_aggregates import require_grouped
from tidings.lang.sql.query.scope import Outer, Scope, ScopeRelation
from tidings.lang.sql.query.subquery.dependent import bind_dependent, with_domain

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder


def lateral(
    binder: Binder, node: exp.Lateral, ctes: Mapping[str, Any], scope: Scope, before: Relation
) -> tuple[ScopeRelation, list[Expression]]:
    """A subquery that may use the sources before it, and the conditions that tie it to them."""
    ctx, join = binder.ctx, node.parent
    if isinstance(join, exp.Join) and str(join.args.get("side") or "").upper() in ("RIGHT", "FULL"):
        raise ctx.unsupported("LATERAL here", node)
    name = node.alias or ctx.fresh("lateral")
    check_reserved(name, ctx.place(node))
    domain = f"__lateral_{ctx.fresh(name)}"
    bound, correlation = bind_dependent(binder, node.this, name, scope, ctes, domain)
    used = [u.field for u in correlation.used.values()]
    for value in correlation.mentioned:
        if all(scope.locate([p.name for p in c.parts]) is not None for c in value.find_all(exp.Column)):
            require_grouped(ctx, value)
    if not {f.ref for f in used} <= {f.ref for f in before.fields}:
        raise ctx.unsupported("LATERAL that uses a query further out", node)
    arguments = [f.expression for f in used]
    plan = with_domain(ctx, bound.plan, domain, before, arguments)
    return _tied(binder, node, name, bound.names, plan, arguments)


def derived(
    binder: Binder, node: exp.Subquery, ctes: Mapping[str, Any], outer: Outer
) -> tuple[ScopeRelation, list[Expression]]:
    """A subquery in the FROM of a subquery, which may use the query around that one; the ties are for WHERE."""
    ctx, name = binder.ctx, node.alias or binder.ctx.fresh("subquery")
    check_reserved(name, ctx.place(node))
    domain = f"__derived_{ctx.fresh(name)}"
    inside = Scope(outer=outer)
    bound, correlation = bind_dependent(binder, node.this, name, inside, binder.with_clause(node, ctes), domain)
    arguments = [bind_expression(ctx, written, inside, {}) for written in correlation.mentioned]
    plan = bound.plan
    if correlation.used and outer.domain is not None:
        plan = with_domain(ctx, plan, domain, outer.domain, arguments)
    return _tied(binder, node, name, bound.names, plan, arguments)


def _tied(
    binder: Binder, node: Expression, name: str, known: tuple[str, ...], plan: Relation, arguments: list[Expression]
) -> tuple[ScopeRelation, list[Expression]]:
    names = binder.renamed(known, node)
    ties = plan.fields[len(names) :]
    tied: list[Expression] = [
        exp.NullSafeEQ(this=a.copy(), expression=t.expression) for a, t in zip(arguments, ties, strict=True)
    ]
    return ScopeRelation(name, plan, tuple(zip(names, plan.fields, strict=False))), tied

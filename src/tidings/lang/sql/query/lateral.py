"""Subqueries in FROM that use more than their own sources: LATERAL, and those in the FROM of a subquery.

Like subqueries in expressions (see :mod:`tidings.lang.sql.query.subquery`) they are bound with a domain of the
values they use, and tied to what they use by conditions on those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.ir.expression import Expression, column
from tidings.ir.relation import Aggregate, Field, Item, OuterJoin, Project, Relation
from tidings.lang.sql.context import Context
from tidings.lang.sql.names import check_reserved
from tidings.lang.sql.query.scope import Outer, Scope, ScopeRelation
from tidings.lang.sql.query.subquery import bind_dependent, with_domain

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
    used = [f for f, _ in correlation.used.values()]
    if not {f.ref for f in used} <= {f.ref for f in before.fields}:
        raise ctx.unsupported("LATERAL that uses a query further out", node)
    arguments = [f.expression for f in used]
    plan = with_domain(ctx, bound.plan, domain, before, arguments)
    if used and correlation.total:
        plan = _for_all(ctx, plan, correlation, before, arguments)
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
    arguments = [inside.resolve(parts, ctx.place(node)) for _, parts in correlation.used.values()]
    plan = bound.plan
    if correlation.used and outer.domain is not None:
        plan = with_domain(ctx, plan, domain, outer.domain, arguments)
        plan = _for_all(ctx, plan, correlation, outer.domain, arguments) if correlation.total else plan
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


def _for_all(
    ctx: Context, plan: Relation, correlation: Outer, around: Relation, arguments: list[Expression]
) -> Relation:
    """A total with a row for all values that occur around it, also where it has no rows to total."""
    width = len(plan.fields) - len(arguments)
    ties = plan.fields[width:]
    values = Project(
        around,
        ctx.alias("around"),
        tuple(Item(t.name, t.type, a) for t, a in zip(ties, arguments, strict=True)),
    )
    occurring = Aggregate(values, ctx.alias("occurring"), tuple(map(_as_item, values.fields)), ())
    there = Item("__there", "boolean", exp.true())
    known = Project(plan, ctx.alias("total"), (*map(_as_item, plan.fields), there))
    again = tuple(
        exp.NullSafeEQ(this=column(occurring.alias, t.name), expression=column(known.alias, t.name)) for t in ties
    )
    missing = exp.Is(this=column(known.alias, there.name), expression=exp.Null())
    out = []
    for f, default in zip(plan.fields[:width], correlation.defaults, strict=True):
        value: Expression = column(known.alias, f.name)
        if default is not None:
            value = exp.If(this=missing.copy(), true=default.copy(), false=value)
        out.append(Item(f.name, f.type, value))
    out += [Item(t.name, t.type, column(occurring.alias, t.name)) for t in ties]
    return Project(OuterJoin(occurring, known, again), ctx.alias("totals"), tuple(out))


def _as_item(field: Field) -> Item:
    return Item(field.name, field.type, field.expression)

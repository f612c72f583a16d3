"""Queries that use columns of the query around them.

Such a query is a function of the values it uses.  Its *domain* is the relation of all values that occur around it;
joined into the query's own FROM clause, it makes the query a plain relation with one more column per value used, and
the query around joins it back on those (Neumann and Kemper's dependent join, pushed down until it vanishes).  Where
the query itself sets such a value equal to a column of its own, that column serves, and no domain is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.ir.expression import Expression, operand
from tidings.ir.relation import Aggregate, Column, Field, Item, Join, Project, Relation, Scan
from tidings.ir.traverse import rebuild
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.bound import Bound
from tidings.lang.sql.query.comparison import Comparison
from tidings.lang.sql.query.scope import Outer, Scope

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder


@dataclass(frozen=True, slots=True)
class Subquery:
    """A bound subquery: its plan ends with the columns that tie it to the query around."""

    kind: str
    plan: Relation
    domain: str
    ties: int
    type: str
    comparison: Comparison

    @property
    def tie_fields(self) -> tuple[Field, ...]:
        return self.plan.fields[len(self.plan.fields) - self.ties :]


def bind_dependent(
    binder: Binder, tree: Expression, name: str, scope: Scope, ctes: Mapping[str, Any], domain: str
) -> tuple[Bound, Outer]:
    """Bind a query inside another.

    Twice where it uses the query around it: to learn what, then with the domain of that.
    """
    ctx = binder.ctx
    taken = set(ctx.used)
    outer = Outer(scope)
    bound = binder.query(tree, name, ctes, outer)
    if not outer.used:
        return bound, outer
    ctx.used.clear()
    ctx.used.update(taken)
    alias = ctx.alias("domain")
    fields = {r: Field(alias, f"d{n}", u.field.type) for n, (r, u) in enumerate(outer.used.items())}
    scan = Scan(domain, alias, tuple(Column(f.name, f.type) for f in fields.values()))
    outer = Outer(scope, outer.used, fields, scan)
    return binder.query(tree, name, ctes, outer), outer


def beside_domain(ctx: Context, bound: Bound, outer: Outer | None) -> Bound:
    """Rows that use nothing of the query around, in a query that does: they are there for all of its values."""
    if outer is None or outer.domain is None:
        return bound
    domain = Scan(outer.domain.relation, ctx.alias("domain"), outer.domain.columns)
    ties = (Item(f"__d{n}", f.type, f.expression) for n, f in enumerate(domain.fields))
    items = (*map(as_item, bound.plan.fields), *ties)
    return Bound(Project(Join((bound.plan, domain), ()), ctx.alias("beside"), items), bound.names)


def with_domain(
    ctx: Context, inner: Relation, domain: str, plan: Relation, arguments: Sequence[Expression]
) -> Relation:
    """A dependent plan with its domain: the values of the arguments that occur in the plan around."""

    def with_values(node: Relation) -> Relation:
        if not isinstance(node, Scan) or node.relation != domain:
            return node
        items = (Item(c.name, c.type, e) for c, e in zip(node.columns, arguments, strict=False))
        values = Project(plan, ctx.alias("around"), tuple(items))
        return Aggregate(values, node.alias, tuple(map(as_item, values.fields)), ())

    return rebuild(inner, with_values)


def as_item(field: Field) -> Item:
    """A column passed on under its name."""
    return Item(field.name, field.type, field.expression)


def same(around: Expression, inside: Expression) -> Expression:
    """A value of the query around and the column that stands for it: NULL is a value like others."""
    return exp.NullSafeEQ(this=operand(around), expression=operand(inside))

"""FROM: tables, views, subqueries and joins of them, with or without parentheses.

What stands in FROM is a :class:`Part`: the sources it brings into scope, their join, and what the analyzer sees of it.
The analyzer sees the clause as it is written, each source replaced by an empty relation with the same names and types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.errors import DuplicateAlias
from tidings.ir.expression import Expression, show_name, typed_null
from tidings.ir.relation import Relation, Values
from tidings.lang.sql.bound import Bound
from tidings.lang.sql.joins import join_sources
from tidings.lang.sql.names import check_reserved
from tidings.lang.sql.scope import Outer, Scope, Source

if TYPE_CHECKING:
    from tidings.lang.sql.query import Binder


@dataclass(slots=True)
class Part:
    """A part of a FROM clause."""

    scope: Scope
    plan: Relation
    shown: Expression

    @staticmethod
    def of(source: Source) -> Part:
        return Part(Scope([source], list(source.columns)), source.relation, _stand_in(source))


def bind_from(
    binder: Binder, node: exp.Select, ctes: Mapping[str, Any], outer: Outer | None
) -> tuple[Scope, Relation, exp.Select]:
    """The sources in scope, their join, and the analyzer's stand-in for the clause."""
    clause, analysed = node.args.get("from_"), exp.Select()
    if clause is None:
        return Scope(outer=outer), Values(binder.ctx.alias("one"), (), ((),)), analysed
    part, mirrors = _joined(binder, clause.this, node.args.get("joins") or [], ctes, outer)
    analysed = analysed.from_(part.shown)
    if mirrors:
        analysed.set("joins", mirrors)
    return part.scope, part.plan, analysed


def _joined(
    binder: Binder, first: Expression, joins: list[exp.Join], ctes: Mapping[str, Any], outer: Outer | None
) -> tuple[Part, list[exp.Join]]:
    """Sources and joins from left to right, and the joins as the analyzer sees them."""
    part = _part(binder, first, ctes, outer)
    part.scope.outer = outer
    mirrors = []
    for join in joins:
        other = _part(binder, join.this, ctes, outer)
        for source in other.scope.sources:
            if part.scope.source(source.name) is not None:
                raise DuplicateAlias(binder.ctx.place(join.this), name=show_name(source.name))
        part.plan = join_sources(binder.ctx, join, part.scope, part.plan, other.scope, other.plan)
        mirror = join.copy()
        mirror.set("this", other.shown)
        mirrors.append(mirror)
    return part, mirrors


def _part(binder: Binder, node: Expression, ctes: Mapping[str, Any], outer: Outer | None) -> Part:
    """One operand of a join."""
    if isinstance(node, exp.Subquery) and _is_group(node.this):
        return _group(binder, node, ctes, outer)
    return Part.of(_source(binder, node, ctes))


def _is_group(inner: Expression) -> bool:
    """Whether parentheses hold sources, and not a query."""
    return isinstance(inner, exp.Table) or (
        isinstance(inner, exp.Subquery) and bool(inner.alias or inner.args.get("joins") or _is_group(inner.this))
    )


def _group(binder: Binder, node: exp.Subquery, ctes: Mapping[str, Any], outer: Outer | None) -> Part:
    """A join in parentheses; with an alias its columns are those of one source, without their sources stay known."""
    first = node.this.copy()
    joins = first.args.get("joins") or []
    first.set("joins", None)
    part, mirrors = _joined(binder, first, joins, ctes, outer)
    if node.alias:
        check_reserved(node.alias, binder.ctx.place(node.args["alias"]))
        names = binder.renamed(tuple(n for n, _ in part.scope.visible), node)
        columns = tuple((n, f) for n, (_, f) in zip(names, part.scope.visible, strict=True))
        return Part.of(Source(node.alias, part.plan, columns))
    if mirrors:
        part.shown.set("joins", mirrors)
        part.shown = exp.Subquery(this=part.shown)
    return part


def _source(binder: Binder, node: Expression, ctes: Mapping[str, Any]) -> Source:
    ctx = binder.ctx
    if node.args.get("pivots"):
        raise ctx.unsupported("PIVOT and UNPIVOT", node)
    if node.args.get("sample"):
        raise ctx.unsupported("TABLESAMPLE", node)
    alias = node.args.get("alias")
    given = ""
    if alias is not None:
        given = alias.name
        check_reserved(given, ctx.place(alias))
    match node:
        case exp.Table():
            name = given or node.name
            bound = binder.named(node, name, ctes)
        case exp.Subquery():
            name = given or ctx.fresh("subquery")
            bound = binder.query(node.this, name, binder.with_clause(node, ctes))
        case exp.Values():
            name = given or ctx.fresh("values")
            bound = Bound.of(binder.values(node, name))
        case exp.Lateral():
            raise ctx.unsupported("LATERAL", node)
        case _:
            raise ctx.unsupported(f"{node.key.upper()} in FROM", node)
    names = binder.renamed(bound.names, node) if not isinstance(node, exp.Values) else bound.names
    return Source(name, bound.plan, tuple(zip(names, bound.plan.fields, strict=True)))


def _stand_in(source: Source) -> exp.Subquery:
    """An empty relation with the source's name, column names and types."""
    columns = [typed_null(f.type).as_(name, quoted=True) for name, f in source.columns]
    return exp.select(*columns).subquery(exp.to_identifier(source.name, quoted=True))

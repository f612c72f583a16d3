"""FROM: tables, views, subqueries and joins of them, with or without parentheses.

What stands in FROM is a :class:`Part`: the sources it brings into scope, their join, and what the analyzer sees of it.
The analyzer sees the clause as it is written, each source replaced by an empty relation with the same names and types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import DuplicateAlias
from tidings.ir.expression import Expression, conjuncts, refs, show_name, typed_null
from tidings.ir.relation import Filter, Item, Project, Relation
from tidings.lang.sql.names import check_reserved, distinct_names
from tidings.lang.sql.query.asof import asof_join, is_asof
from tidings.lang.sql.query.bound import Bound, one_row
from tidings.lang.sql.query.expression import bind_expression, for_analysis
from tidings.lang.sql.query.generators import Generator, unnest_as_explode, unnested
from tidings.lang.sql.query.joins import join_sources, shared_names
from tidings.lang.sql.query.lateral import derived, lateral
from tidings.lang.sql.query.pivot import as_select
from tidings.lang.sql.query.scope import Outer, Scope, ScopeRelation
from tidings.lang.sql.query.subquery.subqueries import Subqueries
from tidings.lang.sql.table_operator import operator_as_query

if TYPE_CHECKING:
    from tidings.lang.sql.query.binder import Binder


@dataclass(slots=True)
class Part:
    """A part of a FROM clause."""

    scope: Scope
    plan: Relation
    shown: Expression
    tied: list[Expression] = field(default_factory=list)
    """Conditions that tie it to what stands before it."""

    @staticmethod
    def of(source: ScopeRelation, tied: Sequence[Expression] = ()) -> Part:
        return Part(Scope([source], list(source.columns)), source.relation, _stand_in(source), list(tied))


def bind_from(
    binder: Binder, node: exp.Select, ctes: Mapping[str, Any], outer: Outer | None
) -> tuple[Scope, Relation, exp.Select]:
    """The sources in scope, their join, and the analyzer's stand-in for the clause."""
    clause, analysed = node.args.get("from_"), exp.Select()
    if clause is None:
        return Scope(outer=outer), one_row(binder.ctx), analysed
    part, mirrors = _joined(binder, clause.this, node.args.get("joins") or [], ctes, outer)
    for view in node.args.get("laterals") or []:
        mirrors.append(_generated(binder, view, part, outer=bool(view.args.get("outer"))))
    analysed = analysed.from_(part.shown)
    if mirrors:
        analysed.set("joins", mirrors)
    return part.scope, part.plan, analysed


def _joined(
    binder: Binder, first: Expression, joins: list[exp.Join], ctes: Mapping[str, Any], outer: Outer | None
) -> tuple[Part, list[exp.Join]]:
    """Sources and joins from left to right, and the joins as the analyzer sees them."""
    part, mirrors = _first(binder, _rewritten(binder, first, Scope(), outer), ctes, outer)
    part.scope.outer = outer
    for join in joins:
        join = _with_source_rewritten(binder, join, part.scope, outer)
        if _function(join.this) is not None:
            mirrors.append(_generated_in_join(binder, join, part))
            continue
        other = _part(binder, join.this, ctes, outer, part)
        for source in other.scope.sources:
            if part.scope.source(source.name) is not None:
                raise DuplicateAlias(binder.ctx.place(join.this), name=show_name(source.name))
        if is_asof(join):
            mirrors.append(_joined_as_of(binder, join, part, other))
            continue
        both = Scope([*part.scope.sources, *other.scope.sources], [*part.scope.visible, *other.scope.visible], outer)
        subqueries, mirror = Subqueries(binder, both, ctes), join.copy()
        mirror.set("this", other.shown)
        _settle_natural(mirror, part.scope, other.scope)
        if join.args.get("on") is not None:
            mirror.set("on", subqueries.marked(mirror.args["on"]))
        part.plan = join_sources(
            binder.ctx, mirror, part.scope, part.plan, other.scope, other.plan, subqueries, other.tied
        )
        if mirror.args.get("on") is not None:
            mirror.set("on", subqueries.shown(for_analysis(mirror.args["on"], both, {})))
        mirrors.append(mirror)
    return part, mirrors


def _rewritten(binder: Binder, source: Expression, before: Scope, outer: Outer | None) -> Expression:
    """A source with ``explode`` where UNNEST was written, and a query where an operator of a user was.

    A function that makes rows of the query around alone is a query as well: ``(SELECT explode(t.xs)) AS e``.
    """
    source = unnest_as_explode(binder.ctx, operator_as_query(binder.ctx, source))
    call = _function(source)
    if call is None or outer is None or not functions.is_generator(call):
        return source
    columns = [[p.name for p in c.parts] for c in call.find_all(exp.Column)]
    if not columns or any(before.locate(c) is not None or outer.locate(c, None) is None for c in columns):
        return source
    alias = source.args.get("alias")
    return exp.Subquery(this=exp.select(call.copy()), alias=None if alias is None else alias.copy())


def _with_source_rewritten(binder: Binder, join: exp.Join, before: Scope, outer: Outer | None) -> exp.Join:
    """A join with its source rewritten."""
    source = _rewritten(binder, join.this, before, outer)
    if source is join.this:
        return join
    exploded = join.copy()
    exploded.set("this", source)
    return exploded


def _joined_as_of(binder: Binder, join: exp.Join, part: Part, other: Part) -> exp.Join:
    """``ASOF JOIN``; the analyzer sees a plain join."""
    if other.tied or other.scope.deferred or part.scope.deferred:
        raise binder.ctx.unsupported("ASOF JOIN of a subquery that uses the query around it", join)
    mirror = join.copy()
    mirror.set("this", other.shown)
    mirror.set("method", None)
    part.plan = asof_join(binder.ctx, join, part.scope, part.plan, other.scope, other.plan)
    return mirror


def _settle_natural(join: exp.Join, scope: Scope, other: Scope) -> None:
    """A NATURAL join of sources that share no column combines all rows, as in Spark."""
    if str(join.args.get("method") or "").upper() == "NATURAL" and not shared_names(join, scope, other):
        join.set("method", None)
        join.set("on", exp.true())


def _first(
    binder: Binder, node: Expression, ctes: Mapping[str, Any], outer: Outer | None
) -> tuple[Part, list[exp.Join]]:
    """The first operand of a clause, and what the analyzer sees joined with it."""
    if _function(node) is None:
        return _part(binder, node, ctes, outer, None), []
    row = one_row(binder.ctx)
    part = Part(Scope(), row, exp.select(exp.Literal.number(1).as_("one")).subquery("one"))
    return part, [_generated(binder, node, part)]


def _part(binder: Binder, node: Expression, ctes: Mapping[str, Any], outer: Outer | None, before: Part | None) -> Part:
    """One operand of a join; ``before`` is what stands before it."""
    if isinstance(node, exp.Subquery) and _is_group(node.this):
        return _group(binder, node, ctes, outer)
    if isinstance(node, exp.Lateral):
        if before is None or not isinstance(node.this, exp.Subquery):
            raise binder.ctx.unsupported("LATERAL here", node)
        return Part.of(*lateral(binder, node, ctes, before.scope, before.plan))
    if outer is not None and isinstance(node, exp.Table):
        node, ctes = _with_query(node, ctes, outer)
    if outer is not None and isinstance(node, exp.Subquery) and not node.args.get("pivots"):
        source, tied = derived(binder, node, ctes, outer)
        part = Part.of(source)
        part.scope.deferred = tied
        return part
    return Part.of(_source(binder, node, ctes))


def _with_query(node: exp.Table, ctes: Mapping[str, Any], outer: Outer) -> tuple[Expression, Mapping[str, Any]]:
    """The query of a WITH of this subquery in the place of its name: it may use the query around as well."""
    cte = ctes.get(node.name.lower()) if not node.db and isinstance(node.this, exp.Identifier) else None
    if cte is None or cte.rows is not None or cte.around is None or cte.around is not outer.around:
        return node, ctes
    alias = node.args.get("alias")
    columns = (alias.args.get("columns") if alias is not None else None) or cte.tree.args["alias"].args.get("columns")
    named = exp.TableAlias(this=exp.to_identifier(node.alias or node.name), columns=[c.copy() for c in columns or []])
    return exp.Subquery(this=cte.tree.this, alias=named, pivots=node.args.get("pivots")), cte.visible


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
    if isinstance(first.this, exp.Values):  # in parentheses of its own, which make a table of it
        first.this.set("alias", first.args.get("alias"))
        first = first.this
    part, mirrors = _joined(binder, first, joins, ctes, outer)
    if node.alias:
        check_reserved(node.alias, binder.ctx.place(node.args["alias"]))
        names = binder.renamed(tuple(n for n, _ in part.scope.visible), node)
        columns = tuple((n, f) for n, (_, f) in zip(names, part.scope.visible, strict=True))
        named = Part.of(ScopeRelation(node.alias, part.plan, columns))
        named.scope.deferred = part.scope.deferred
        return named
    if mirrors:
        part.shown.set("joins", mirrors)
        part.shown = exp.Subquery(this=part.shown)
    return part


def _function(node: Expression) -> Expression | None:
    """The function that makes rows, if that is what stands in FROM."""
    inner = node.this if isinstance(node, exp.Lateral | exp.Table) else None
    return inner if isinstance(inner, exp.Expr) and _makes_rows(inner) else None


def _makes_rows(call: Expression) -> bool:
    """Whether a function may stand in FROM; ``range`` may stand nowhere else."""
    return functions.is_generator(call) or functions.function_name(call) == "range"


def _generated_in_join(binder: Binder, join: exp.Join, part: Part) -> exp.Join:
    """``JOIN LATERAL explode(…) AS e ON …``."""
    side, on = str(join.args.get("side") or "").upper(), join.args.get("on")
    plainly = on == exp.true() if on is not None else True
    if side not in ("", "LEFT") or (side == "LEFT" and not plainly) or join.args.get("using"):
        raise binder.ctx.unsupported("an outer join with a function that makes rows", join)
    mirror = _generated(binder, join.this, part, outer=side == "LEFT")
    if on is not None and not plainly:
        part.plan = Filter(part.plan, tuple(conjuncts(bind_expression(binder.ctx, on, part.scope, {}))))
    return mirror


def _generated(binder: Binder, node: Expression, part: Part, *, outer: bool = False) -> exp.Join:
    """Bring in what a function makes of each row so far; the analyzer sees a product."""
    ctx, call, alias = binder.ctx, node.this, node.args.get("alias")
    name = node.alias or ctx.fresh("generated")
    check_reserved(name, ctx.place(node))
    if part.scope.source(name) is not None:
        raise DuplicateAlias(ctx.place(node), name=show_name(name))
    columns = alias.args.get("columns") or [] if alias is not None else []
    generator = Generator(call, tuple(c.name for c in columns), outer)
    if not _makes_rows(call):
        raise ctx.no_table_function(node)
    arguments = [bind_expression(ctx, a, part.scope, {}) for a in generator.arguments]
    if not {r for a in arguments for r in refs(a)} <= {f.ref for f in part.plan.fields}:
        raise ctx.unsupported("a function that makes rows of the query around it", node)
    plan, generated = unnested(ctx, part.plan, generator, arguments)
    passed = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in part.plan.fields]
    names = distinct_names(tuple(o.name for o in generated))
    new = [Item(n, o.type, o.expression) for n, o in zip(names, generated, strict=True)]
    before = part.plan.fields
    part.plan = Project(plan, ctx.alias(name), (*passed, *new))
    part.scope.rebase(dict(zip((f.ref for f in before), part.plan.fields, strict=False)))
    fields = part.plan.fields[len(passed) :]
    source = ScopeRelation(name, part.plan, tuple(zip((o.name for o in generated), fields, strict=True)))
    part.scope.add(source)
    return exp.Join(this=_stand_in(source), kind="CROSS")


def _source(binder: Binder, node: Expression, ctes: Mapping[str, Any]) -> ScopeRelation:
    ctx = binder.ctx
    if node.args.get("pivots"):
        return _pivoted(binder, node, ctes)
    if node.args.get("sample"):
        raise ctx.unsupported("TABLESAMPLE", node)
    alias = node.args.get("alias")
    alias_name = ""
    if alias is not None:
        alias_name = alias.name
        check_reserved(alias_name, ctx.place(alias))
    match node:
        case exp.Table():
            name = alias_name or node.name
            bound = binder.named(node, name, ctes)
        case exp.Subquery():
            name = alias_name or ctx.fresh("subquery")
            bound = binder.query(node.this, name, binder.with_clause(node, ctes))
        case exp.Values():
            name = alias_name or ctx.fresh("values")
            bound = Bound.of(binder.values(node, name))
        case _:
            raise ctx.unsupported(f"{node.key.upper()} in FROM", node)
    names = binder.renamed(bound.names, node) if not isinstance(node, exp.Values) else bound.names
    return ScopeRelation(name, bound.plan, tuple(zip(names, bound.plan.fields, strict=True)))


def _pivoted(binder: Binder, node: Expression, ctes: Mapping[str, Any]) -> ScopeRelation:
    """A source after its pivots; the last one's alias names it."""
    tree: Expression = node.copy()
    tree.set("pivots", None)
    name = tree.alias_or_name
    for pivot in node.args["pivots"]:
        inner = tree.subquery("pivoted") if isinstance(tree, exp.Select) else tree
        used = set(binder.ctx.used)
        names = tuple(n for n, _ in _source(binder, inner, ctes).columns)
        binder.ctx.used.clear()
        binder.ctx.used.update(used)
        tree = as_select(binder.ctx, pivot, inner, names)
        name = pivot.alias or name
    name = name or binder.ctx.fresh("pivoted")
    bound = binder.query(tree, name, ctes)
    names = binder.renamed(bound.names, node.args["pivots"][-1])
    return ScopeRelation(name, bound.plan, tuple(zip(names, bound.plan.fields, strict=True)))


def _stand_in(source: ScopeRelation) -> exp.Subquery:
    """An empty relation with the source's name, column names and types."""
    columns = [typed_null(f.type).as_(name, quoted=True) for name, f in source.columns]
    return exp.select(*columns).subquery(exp.to_identifier(source.name, quoted=True))

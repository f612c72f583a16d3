"""Joins in FROM: how the sources come together, and what their columns are called after."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tidings.ir.expression import Expression, aliases, conjuncts, typed_null
from tidings.ir.relation import Column, Field, Item, Join, OuterJoin, Project, Relation, SemiJoin, Union
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.both_sides import joined_by_pairs
from tidings.lang.sql.query.clock import filtered_now, reads_clock
from tidings.lang.sql.query.expression import bind_condition
from tidings.lang.sql.query.scope import Scope
from tidings.lang.sql.query.subquery.subqueries import Subqueries


def join_sources(
    ctx: Context,
    join: exp.Join,
    scope: Scope,
    plan: Relation,
    other: Scope,
    right: Relation,
    subqueries: Subqueries,
    tied: list[Expression],
) -> Relation:
    """Join one more source, or several that are joined already, and bring them into scope.

    ``subqueries`` are those that ON has markers for, ``tied`` are conditions of its own that a source comes with.
    """
    side, kind, method = (str(join.args.get(a) or "").upper() for a in ("side", "kind", "method"))
    if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI") or method not in ("", "NATURAL"):
        raise ctx.unsupported(" ".join(w for w in (method, side, kind, "JOIN") if w), join)
    shared = shared_names(join, scope, other)
    conditions = _conditions(ctx, join, scope, other, shared, subqueries)
    merged = frozenset(n.lower() for n in shared)
    sides = frozenset(f.alias for f in (*plan.fields, *right.fields))
    conditions = _without_outer(ctx, join, scope, other, conditions, sides, subqueries)
    timed = [c for c in conditions if reads_clock(c)]
    conditions = [c for c in conditions if c not in timed]
    asking = [c for c in conditions if subqueries.among(c)]
    conditions = [*tied, *(c for c in conditions if c not in asking)]
    if side or kind in ("SEMI", "ANTI"):
        if _spans_both(plan, right, side, asking, timed, subqueries):
            pairs = _inner(ctx, Join((plan, right), tuple(conditions)), asking, timed, subqueries)
            return joined_by_pairs(ctx, join, scope, other, (plan, right), pairs)
        plan, right, valued = _attached(plan, right, subqueries, asking)
        conditions += valued
        plan, right = _timed_side(ctx, plan, right, timed, side)
        asking, timed = [], []
    if kind in ("SEMI", "ANTI"):
        return SemiJoin(plan, right, tuple(conditions), kind == "ANTI")
    if side == "FULL":
        return _full_join(ctx, scope, plan, other, right, tuple(conditions), merged)
    scope.join(other, merged, theirs=side == "RIGHT")
    if side == "LEFT":
        return OuterJoin(plan, right, tuple(conditions))
    if side == "RIGHT":
        return OuterJoin(right, plan, tuple(conditions))
    return _inner(ctx, Join((plan, right), tuple(conditions)), asking, timed, subqueries)


def _inner(
    ctx: Context, joined: Relation, asking: list[Expression], timed: list[Expression], subqueries: Subqueries
) -> Relation:
    """The rows of a join that meet its conditions with subqueries and on time."""
    for condition in asking:
        joined = subqueries.filtered(joined, condition)
    for condition in timed:
        joined, value = subqueries.valued(joined, condition)
        joined = filtered_now(ctx, joined, value)
    return joined


def _spans_both(
    left: Relation,
    right: Relation,
    side: str,
    asking: list[Expression],
    timed: list[Expression],
    subqueries: Subqueries,
) -> bool:
    """Whether a subquery, or a condition on time, speaks of more than the one side it could be put into."""
    lefts, rights = ({f.alias for f in r.fields} for r in (left, right))
    optional = lefts if side == "RIGHT" else rights
    markers = [m for c in asking for m in subqueries.markers(c)]
    return any(not aliases(m) <= lefts and not aliases(m) <= rights for m in markers) or any(
        side == "FULL" or not aliases(c) <= optional or subqueries.among(c) for c in timed
    )


def shared_names(join: exp.Join, scope: Scope, other: Scope) -> list[str]:
    """The columns that USING or NATURAL sets equal."""
    if str(join.args.get("method") or "").upper() == "NATURAL":
        theirs = {n.lower() for n, _ in other.visible}
        return [n for n, _ in scope.visible if n.lower() in theirs]
    return [i.name for i in join.args.get("using") or []]


def _conditions(
    ctx: Context, join: exp.Join, scope: Scope, other: Scope, shared: list[str], subqueries: Subqueries
) -> list[Expression]:
    """The conditions of a join: equal columns of the names both sides share, or those of ON."""
    if shared:
        at = ctx.place(join)
        pairs = [(scope.resolve([n], at), other.resolve([n], at)) for n in shared]
        return [exp.EQ(this=a.copy(), expression=b.copy()) for a, b in pairs]
    on = join.args.get("on")
    return list(conjuncts(bind_condition(ctx, on, subqueries.scope, {}))) if on is not None else []


def _without_outer(
    ctx: Context,
    join: exp.Join,
    scope: Scope,
    other: Scope,
    conditions: list[Expression],
    sides: frozenset[str],
    subqueries: Subqueries,
) -> list[Expression]:
    """The conditions over both sides alone; those that use the query around are left for WHERE."""
    side, kind = (str(join.args.get(a) or "").upper() for a in ("side", "kind"))
    away = [c for c in conditions if not aliases(c) <= sides]
    inside = bool(side) or kind in ("SEMI", "ANTI")
    if (
        (inside and (away or other.deferred))
        or (side in ("RIGHT", "FULL") and scope.deferred)
        or any(map(subqueries.among, away))
    ):
        raise ctx.unsupported("an outer, semi or anti join that uses the query around it", join)
    scope.deferred = [*scope.deferred, *other.deferred, *away]
    return [c for c in conditions if c not in away]


def _attached(
    left: Relation,
    right: Relation,
    subqueries: Subqueries,
    asking: list[Expression],
) -> tuple[Relation, Relation, list[Expression]]:
    """Both sides with a column for each subquery that speaks of one of them, and the conditions over these."""
    valued = []
    for condition in asking:
        whole = exp.Paren(this=condition.copy())
        for marker in subqueries.markers(whole):
            mentioned = aliases(marker)
            if mentioned <= {f.alias for f in right.fields}:
                right, value = subqueries.valued(right, marker)
            else:
                left, value = subqueries.valued(left, marker)
            marker.replace(value)
        inner: Expression = whole.this
        valued.append(inner.pop())
    return left, right, valued


def _timed_side(
    ctx: Context, left: Relation, right: Relation, timed: list[Expression], side: str
) -> tuple[Relation, Relation]:
    """Both sides, the one that may be missing with the conditions on time, which speak of it alone."""
    optional = left if side == "RIGHT" else right
    for condition in timed:
        optional = filtered_now(ctx, optional, condition)
    return (optional, right) if side == "RIGHT" else (left, optional)


def _full_join(
    ctx: Context,
    scope: Scope,
    left: Relation,
    other: Scope,
    right: Relation,
    conditions: tuple[Expression, ...],
    merged: frozenset[str],
) -> Relation:
    """``A ⟗ B = (A ⟕ B) ⊎ π(B ▷ A)``: the rows of both sides that match nothing are padded with NULL."""
    columns = tuple(Column(f"{f.alias}.{f.name}", f.type) for f in (*left.fields, *right.fields))
    joined = OuterJoin(left, right, conditions)
    first = Project(joined, ctx.alias("full"), _as(columns, [f.expression for f in joined.fields]))
    nulls = [typed_null(f.type) for f in left.fields]
    lonely = SemiJoin(right, left, conditions, anti=True)
    padded = _as(columns, [*nulls, *(f.expression for f in right.fields)])
    union = Union((first, Project(lonely, ctx.alias("full"), padded)), ctx.alias("full"), columns)
    new = dict(zip((f.ref for f in (*left.fields, *right.fields)), union.fields, strict=True))
    there = {n.lower(): f for n, f in other.visible}
    fallback = {n.lower(): (new[f.ref], new[there[n.lower()].ref]) for n, f in scope.visible if n.lower() in merged}
    scope.join(other, merged)
    scope.rebase(new)
    if not fallback:
        return union
    return _coalesced(ctx, union, scope, fallback)


def _coalesced(ctx: Context, union: Union, scope: Scope, merged: Mapping[str, tuple[Field, Field]]) -> Relation:
    """A column named by USING in a full join comes from whichever side has it."""
    items = [Item(f.name, f.type, f.expression) for f in union.fields]
    for name, (left, right) in merged.items():
        either = exp.Coalesce(this=left.expression, expressions=[right.expression])
        items.append(Item(f"either.{name}", left.type, either))
    project = Project(union, ctx.alias("full"), tuple(items))
    by_name = {f.name: f for f in project.fields}
    scope.rebase({f.ref: by_name[f.name] for f in union.fields})
    scope.visible = [(n, by_name.get(f"either.{n.lower()}", f)) for n, f in scope.visible]
    return project


def _as(columns: tuple[Column, ...], expressions: list[Expression]) -> tuple[Item, ...]:
    return tuple(Item(c.name, c.type, e) for c, e in zip(columns, expressions, strict=True))

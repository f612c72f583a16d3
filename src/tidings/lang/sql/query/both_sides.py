"""Outer, semi and anti joins whose ON asks subqueries, or the clock, about both sides together.

Such a condition is no condition of the join itself: it is judged for pairs of rows.  So the pairs that meet it are
found first, as an inner join and its filters ``M = σ(A × B)``; a row of A that is in no pair is known by its columns::

    A ⟕ B = M ⊎ π(A ▷ M)        A ⋉ B = A ⋉ M        A ▷ B = A ▷ M        A ⟗ B = M ⊎ π(A ▷ M) ⊎ π(B ▷ M)

Rows of A that are equal have the same pairs, so it does not matter which of them is meant.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression, column, typed_null
from tidings.ir.relation import Column, Item, Project, Relation, SemiJoin, Union
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.scope import Scope
from tidings.lang.sql.query.subquery.dependent import same


def joined_by_pairs(
    ctx: Context, join: exp.Join, scope: Scope, other: Scope, sides: tuple[Relation, Relation], pairs: Relation
) -> Relation:
    """An outer, semi or anti join of two sides whose matching pairs are known; an outer one brings both into scope."""
    side, kind = (str(join.args.get(a) or "").upper() for a in ("side", "kind"))
    left, right = sides
    if any("map<" in f.type for f in (*left.fields, *right.fields)):
        raise ctx.unsupported("a subquery or condition on time over both sides of such a join", join)
    if kind in ("SEMI", "ANTI"):
        return _single(ctx, left, pairs, anti=kind == "ANTI")
    fields = (*left.fields, *right.fields)
    columns = tuple(Column(f"{f.alias}.{f.name}", f.type) for f in fields)
    branches: list[Relation] = [_named(ctx, pairs, columns, [f.expression for f in fields])]
    if side in ("LEFT", "FULL"):
        alone = _single(ctx, left, pairs, anti=True)
        cells = [*(f.expression for f in left.fields), *(typed_null(f.type) for f in right.fields)]
        branches.append(_named(ctx, alone, columns, cells))
    if side in ("RIGHT", "FULL"):
        alone = _single(ctx, right, pairs, anti=True)
        cells = [*(typed_null(f.type) for f in left.fields), *(f.expression for f in right.fields)]
        branches.append(_named(ctx, alone, columns, cells))
    union = Union(tuple(branches), ctx.alias("joined"), columns)
    scope.join(other)
    scope.rebase(dict(zip((f.ref for f in fields), union.fields, strict=True)))
    return union


def _single(ctx: Context, side: Relation, pairs: Relation, *, anti: bool) -> SemiJoin:
    """The rows of a side that are in some pair, or with ``anti`` in none."""
    alias = ctx.alias("paired")
    paired = Project(pairs, alias, tuple(Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in side.fields))
    conditions = (same(f.expression, column(alias, f"{f.alias}.{f.name}")) for f in side.fields)
    return SemiJoin(side, paired, tuple(conditions), anti)


def _named(ctx: Context, plan: Relation, columns: tuple[Column, ...], cells: list[Expression]) -> Project:
    items = (Item(c.name, c.type, e) for c, e in zip(columns, cells, strict=True))
    return Project(plan, ctx.alias("joined"), tuple(items))

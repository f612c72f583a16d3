"""``A ASOF JOIN B ON a.k = b.k AND a.ts >= b.ts``: each row of A with the last row of B up to its time.

Both sides are put one under the other, and a window function carries the last time of B so far along, per key.  Then
each row of A is joined with the row of B at that time::

    L = π σ_{side = A}( ω_{max(time of B) over (partition by k order by ts)} (A ⊎ B) )        L ⋈_{k, last = ts} B

So it is keyed by what is set equal, and a row costs no more than its place in the order.  With ``<=`` it is the next
row of B; with ``>`` and ``<`` rows at the same time do not count.  Of several rows of B at that time the greatest is
taken (for ``<`` and ``<=`` the least), column by column, where NULL is the least.  A row of A without such a row is
gone, or padded with NULL if it says LEFT.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from tidings.ir.expression import Expression, aliases, cast, column, conjuncts, equality, literal, operand, typed_null
from tidings.ir.relation import Column, Filter, Item, Join, OuterJoin, Project, Relation, Union, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.clock import reads_clock
from tidings.lang.sql.query.expression import bind_expression
from tidings.lang.sql.query.joins import shared_names
from tidings.lang.sql.query.scope import Scope

_SIDE, _AT = "__side", "__at"
_ORDERS = (exp.GTE, exp.GT, exp.LTE, exp.LT)
_SWAPPED: dict[type[Expression], type[Expression]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
}


class _Match(NamedTuple):
    """What is set equal, as pairs of both sides, and how their times compare."""

    keys: list[tuple[Expression, Expression]]
    times: tuple[Expression, Expression]
    order: type[Expression]

    @property
    def is_later(self) -> bool:
        """Whether the next row is meant, and not the last."""
        return self.order in (exp.LTE, exp.LT)


def is_asof(join: exp.Join) -> bool:
    return str(join.args.get("method") or "").upper() == "ASOF"


def asof_join(ctx: Context, join: exp.Join, scope: Scope, left: Relation, other: Scope, right: Relation) -> Relation:
    """Join the rows of one more source that are the last at the time of each row, and bring them into scope."""
    side, kind = (str(join.args.get(a) or "").upper() for a in ("side", "kind"))
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        raise ctx.unsupported("ASOF JOIN other than LEFT and INNER", join)
    if any("map<" in f.type for f in right.fields):
        raise ctx.unsupported("ASOF JOIN with a relation that has maps", join)
    match = _match(ctx, join, scope, left, other, right)
    merged = frozenset(n.lower() for n in shared_names(join, scope, other))
    joined = _joined(ctx, left, right, match, padded=side == "LEFT")
    after = {f.name: f for f in joined.fields}
    scope.join(other, merged)
    scope.rebase({f.ref: after[f"{f.alias}.{f.name}"] for f in (*left.fields, *right.fields)})
    return joined


def _match(ctx: Context, join: exp.Join, scope: Scope, left: Relation, other: Scope, right: Relation) -> _Match:
    using, at = shared_names(join, scope, other), ctx.place(join)
    if using:
        pairs = [(scope.resolve([n], at), other.resolve([n], at)) for n in using]
        return _Match(pairs[:-1], pairs[-1], exp.GTE)
    both = Scope([*scope.sources, *other.sources], [*scope.visible, *other.visible])
    on = join.args.get("on")
    keys: list[tuple[Expression, Expression]] = []
    compared: list[tuple[tuple[Expression, Expression], type[Expression]]] = []
    for condition in conjuncts(bind_expression(ctx, on, both, {})) if on is not None else ():
        sides, kind = _sides(condition.unnest(), left, right)
        if sides is None or reads_clock(condition):
            raise ctx.unsupported("a condition of ASOF JOIN that does not compare one side with the other", join)
        if kind is exp.EQ:
            keys.append(sides)
        else:
            compared.append((sides, kind))
    if len(compared) != 1:
        raise ctx.unsupported("ASOF JOIN without one comparison by >=, >, <= or <", join)
    ((times, order),) = compared
    return _Match(keys, times, order)


def _sides(
    node: Expression, left: Relation, right: Relation
) -> tuple[tuple[Expression, Expression] | None, type[Expression]]:
    """What a comparison says of the left side and of the right one, in this order."""
    equal = equality(node)
    kind: type[Expression] = type(node)
    if (equal is None or equal[2]) and not isinstance(node, _ORDERS):
        return None, kind
    first, second = node.this.unnest(), node.args["expression"].unnest()
    mine, theirs = ({f.alias for f in r.fields} for r in (left, right))
    if not aliases(first) or not aliases(second):
        return None, kind
    if aliases(first) <= mine and aliases(second) <= theirs:
        return (first, second), kind
    if aliases(first) <= theirs and aliases(second) <= mine:
        return (second, first), _SWAPPED.get(kind, kind)
    return None, kind


def _joined(ctx: Context, left: Relation, right: Relation, match: _Match, *, padded: bool) -> Relation:
    pairs = [*match.keys, match.times]
    either = [exp.Coalesce(this=a.copy(), expressions=[b.copy()]) for a, b in pairs]
    common = ctx.types(list(either), (*left.fields, *right.fields), either[-1])
    named = (*(f"__k{n}" for n in range(len(match.keys))), _AT)

    def compared(place: int) -> list[Item]:
        return [Item(n, t, cast(p[place], t)) for n, t, p in zip(named, common, pairs, strict=True)]

    there = [exp.Not(this=exp.Is(this=operand(b), expression=exp.Null())) for _, b in pairs]
    rows = Filter(right, tuple(there))
    timed = _with_last_time(ctx, left, rows, match, (compared(0), compared(1)))
    chosen = _one_per_time(ctx, rows, compared(1), match)
    conditions = tuple(exp.EQ(this=column(timed.alias, n), expression=column(chosen.alias, n)) for n in named)
    return OuterJoin(timed, chosen, conditions) if padded else Join((timed, chosen), conditions)


def _with_last_time(
    ctx: Context, left: Relation, right: Relation, match: _Match, compared: tuple[list[Item], list[Item]]
) -> Project:
    """The rows of the left side with the time of the last row of the right one, or of the next one."""
    passed = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in left.fields]
    nothing = [Item(i.name, i.type, typed_null(i.type)) for i in passed]
    mine, theirs = (Item(_SIDE, "int", literal(n)) for n in (0, 1))
    sides = (
        Project(left, ctx.alias("side"), (*passed, *compared[0], mine)),
        Project(right, ctx.alias("side"), (*nothing, *compared[1], theirs)),
    )
    rows = Union(sides, ctx.alias("asof"), tuple(Column(i.name, i.type) for i in sides[0].items))
    keys = compared[0][:-1]
    at = rows.fields[len(passed) + len(keys)]
    window = Window(rows, ctx.alias("last"), (Item("time", at.type, _carried(rows.alias, keys, match)),))
    own = Filter(window, (exp.EQ(this=column(rows.alias, _SIDE), expression=literal(0)),))
    items = [Item(i.name, i.type, column(rows.alias, i.name)) for i in (*passed, *keys)]
    return Project(own, ctx.alias("asof"), (*items, Item(_AT, at.type, column(window.alias, "time"))))


def _carried(alias: str, keys: list[Item], match: _Match) -> Expression:
    """The last time of the right side so far, or the next one where what is ordered by runs backwards."""
    order = [exp.Ordered(this=column(alias, _AT), desc=match.is_later, nulls_first=True)]
    if match.order in (exp.GT, exp.LT):
        order.append(exp.Ordered(this=column(alias, _SIDE), desc=False, nulls_first=True))
    theirs = exp.EQ(this=column(alias, _SIDE), expression=literal(1))
    time = exp.Case(ifs=[exp.If(this=theirs, true=column(alias, _AT))])
    return exp.Window(
        this=exp.Min(this=time) if match.is_later else exp.Max(this=time),
        partition_by=[column(alias, k.name) for k in keys],
        order=exp.Order(expressions=order),
        over="OVER",
    )


def _one_per_time(ctx: Context, right: Relation, compared: list[Item], match: _Match) -> Project:
    """One row of the right side per key and time."""
    passed = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in right.fields]
    rows = Project(right, ctx.alias("rows"), (*passed, *compared))
    down = not match.is_later
    order = [exp.Ordered(this=column(rows.alias, i.name), desc=down, nulls_first=not down) for i in passed]
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(rows.alias, i.name) for i in compared],
        order=exp.Order(expressions=order),
        over="OVER",
    )
    window = Window(rows, ctx.alias("place"), (Item("n", "int", number),))
    first = Filter(window, (exp.EQ(this=column(window.alias, "n"), expression=literal(1)),))
    items = (Item(i.name, i.type, column(rows.alias, i.name)) for i in rows.items)
    return Project(first, ctx.alias("asof"), tuple(items))

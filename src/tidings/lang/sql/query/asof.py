"""``A ASOF JOIN B ON a.k = b.k AND a.ts >= b.ts``: each row of A with the last row of B up to its time.

Both sides are put one under the other, and a window function carries the last row of B so far along, per key::

    π σ_{side = A}( ω_{max(row of B) over (partition by k order by ts)} (A ⊎ B) )

So it is keyed by what is set equal, and a row costs no more than its place in the order.  With ``<=`` it is the next
row of B; with ``>`` and ``<`` rows at the same time do not count.  Of several rows of B at that time the greatest is
taken (for ``<`` and ``<=`` the least), column by column, where NULL is the least.  A row of A without such a row is
gone, or padded with NULL if it says LEFT.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression, aliases, cast, column, conjuncts, equality, literal, operand, typed_null
from tidings.ir.relation import Column, Field, Filter, Item, Project, Relation, Union, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.clock import reads_clock
from tidings.lang.sql.query.expression import bind_expression
from tidings.lang.sql.query.joins import shared_names
from tidings.lang.sql.query.scope import Scope

_SIDE, _AT, _BEST = "__side", "__at", "__best"
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
    before = (*left.fields, *right.fields)
    scope.join(other, merged)
    scope.rebase(dict(zip((f.ref for f in before), joined.fields, strict=True)))
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
    later = match.order in (exp.LTE, exp.LT)
    row, row_type = _row(right.fields, cast(match.times[1], common[-1]), common[-1])
    named = (*(f"__k{n}" for n in range(len(match.keys))), _AT)
    passed = [f"{f.alias}.{f.name}" for f in left.fields]
    columns = (
        *(Column(n, f.type) for n, f in zip(passed, left.fields, strict=True)),
        *(Column(n, t) for n, t in zip(named, common, strict=True)),
        Column(_SIDE, "int"),
        Column(_BEST, row_type),
    )

    def side(plan: Relation, own: list[Expression], place: int, number: int, best: Expression) -> Relation:
        compared = [cast(p[place], t) for p, t in zip(pairs, common, strict=True)]
        cells = [*own, *compared, literal(number), best]
        items = tuple(Item(c.name, c.type, e) for c, e in zip(columns, cells, strict=True))
        return Project(plan, ctx.alias("side"), items)

    there = [exp.Not(this=exp.Is(this=operand(b), expression=exp.Null())) for _, b in pairs]
    sides = (
        side(left, [f.expression for f in left.fields], 0, 0, typed_null(row_type)),
        side(Filter(right, tuple(there)), [typed_null(f.type) for f in left.fields], 1, 1, row),
    )
    rows = Union(sides, ctx.alias("asof"), columns)
    window = Window(rows, ctx.alias("last"), (Item("row", row_type, _carried(rows, match, named[:-1], later)),))
    best = column(window.alias, "row")
    conditions: list[Expression] = [exp.EQ(this=column(rows.alias, _SIDE), expression=literal(0))]
    if not padded:
        conditions.append(exp.Not(this=exp.Is(this=best, expression=exp.Null())))
    mine = (Item(n, f.type, column(rows.alias, n)) for n, f in zip(passed, left.fields, strict=True))
    cells = (exp.Dot(this=best.copy(), expression=exp.to_identifier(f"c{n}")) for n in range(len(right.fields)))
    theirs = (Item(f"{f.alias}.{f.name}", f.type, cell) for f, cell in zip(right.fields, cells, strict=True))
    return Project(Filter(window, tuple(conditions)), ctx.alias("asof"), (*mine, *theirs))


def _row(fields: tuple[Field, ...], at: Expression, at_type: str) -> tuple[Expression, str]:
    """A row of the right side as one value that compares by its time, then column by column; and its type."""
    cells: list[tuple[str, str, Expression]] = [("at", at_type, at)]
    for n, f in enumerate(fields):
        there = exp.Not(this=exp.Is(this=f.expression, expression=exp.Null()))
        cells += [(f"t{n}", "boolean", there), (f"c{n}", f.type, f.expression)]
    struct = exp.Struct(expressions=[exp.PropertyEQ(this=exp.to_identifier(n), expression=e) for n, _, e in cells])
    return struct, f"struct<{','.join(f'{types.field_name(n)}:{t}' for n, t, _ in cells)}>"


def _carried(rows: Union, match: _Match, keys: tuple[str, ...], later: bool) -> Expression:
    """The last row of the right side so far, or the next one if what is ordered by runs backwards."""
    order = [exp.Ordered(this=column(rows.alias, _AT), desc=later, nulls_first=True)]
    if match.order in (exp.GT, exp.LT):
        order.append(exp.Ordered(this=column(rows.alias, _SIDE), desc=False, nulls_first=True))
    best = column(rows.alias, _BEST)
    return exp.Window(
        this=exp.Min(this=best) if later else exp.Max(this=best),
        partition_by=[column(rows.alias, k) for k in keys],
        order=exp.Order(expressions=order),
        over="OVER",
    )

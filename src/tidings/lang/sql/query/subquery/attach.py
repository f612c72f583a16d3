"""What a subquery in an expression says, as a column of the plan it is asked of.

Every kind is an outer join with something that has at most one row per row of the plan: a total as it is, else the
subquery's rows counted, or taken together, by what ties them to the plan.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import (
    Expression,
    column,
    conjunction,
    literal,
    operand,
    read,
    refs,
    show_name,
    substitute,
)
from tidings.ir.relation import Aggregate, Filter, Item, Join, OuterJoin, Project, Relation, Scan
from tidings.ir.traverse import walk
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.subquery.dependent import Subquery, as_item, same, with_domain
from tidings.lang.sql.query.subquery.totals import RowByRow, has_one_row, row_by_row

Attached = tuple[Relation, Expression]
"""A plan with more columns, and what a subquery says of each of its rows."""


def attached(ctx: Context, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> Attached:
    """The plan with what a subquery says of each of its rows."""
    total = row_by_row(ctx, subquery, plan, arguments)
    if total is not None:
        return total.plan, _of_row(subquery, total, arguments)
    inner = resolved(ctx, subquery, plan, arguments)
    tied = ties(subquery, arguments)
    match subquery.kind:
        case "scalar":
            return _scalar(ctx, subquery, plan, inner, tied)
        case "exists":
            plan, counted = _counted(ctx, subquery, plan, inner, tied)
            return plan, read(f"COALESCE({counted}.n, 0) > 0")
        case _ if subquery.comparison.operator is exp.EQ and len(arguments) == subquery.ties + 1:
            return _in(ctx, subquery, plan, inner, tied, arguments[-1])
        case _:
            return _compared(ctx, subquery, plan, inner, arguments)


def resolved(ctx: Context, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> Relation:
    """The subquery's plan with the domain it needs, taken from the plan around."""
    return with_domain(ctx, subquery.plan, subquery.domain, plan, arguments)


def ties(subquery: Subquery, arguments: list[Expression]) -> list[Expression]:
    """The conditions that tie the subquery's rows to those of the plan around."""
    return [same(a, f.expression) for a, f in zip(arguments, subquery.tie_fields, strict=False)]


def _of_row(subquery: Subquery, total: RowByRow, arguments: list[Expression]) -> Expression:
    """What a subquery of at most one row says."""
    if subquery.kind == "scalar":
        value = total.items[0]
        return value if total.holds is None else exp.Case(ifs=[exp.If(this=total.holds, true=value.copy())])
    if subquery.kind == "exists":
        meets: Expression = exp.true()
    else:
        meets = conjunction(subquery.comparison.holds(arguments[subquery.ties :], total.items))
    return meets if total.holds is None else exp.Case(ifs=[exp.If(this=total.holds, true=meets)], default=exp.false())


def _scalar(ctx: Context, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression]) -> Attached:
    """The only value; none is NULL."""
    value, keys = inner.fields[0], tuple(map(as_item, subquery.tie_fields))
    if not keys and has_one_row(inner):
        return Join((plan, inner), ()), value.expression
    several = "RAISE_ERROR('a scalar subquery has more than one row')"
    of = f"{show_name(value.alias)}.{show_name(value.name)}"
    only = read(f"CASE WHEN COUNT(*) > 1 THEN CAST({several} AS {value.type}) ELSE MAX({of}) END")
    groups = Aggregate(inner, ctx.alias("only"), keys, (Item("value", value.type, only),))
    result = groups.fields[-1].expression
    return (OuterJoin(plan, groups, _again(tied, groups)) if keys else Join((plan, groups), ())), result


def _again(tied: list[Expression], groups: Aggregate | Project) -> tuple[Expression, ...]:
    """Conditions that tie rows to a plan, for the same columns of the groups of these rows."""
    return tuple(same(c.this, f.expression) for c, f in zip(tied, groups.fields, strict=False))


def _counted(
    ctx: Context,
    subquery: Subquery,
    plan: Relation,
    inner: Relation,
    tied: list[Expression],
    extra: tuple[Item, ...] = (),
) -> tuple[Relation, str]:
    """The plan with the number of the subquery's rows, and more about them."""
    alias = ctx.alias("counted")
    keys = tuple(map(as_item, subquery.tie_fields))
    total = Item("n", "bigint", exp.Count(this=exp.Star(), big_int=True))
    groups = Aggregate(inner, alias, keys, (total, *extra))
    if not keys:
        return Join((plan, groups), ()), alias
    return OuterJoin(plan, groups, _again(tied, groups)), alias


def _in(
    ctx: Context, subquery: Subquery, plan: Relation, inner: Relation, tied: list[Expression], tested: Expression
) -> Attached:
    """``x IN (…)`` as a value: true for a match, unknown where a NULL leaves it open, false else."""
    item = inner.fields[0]
    of = f"{show_name(item.alias)}.{show_name(item.name)}"
    nulls = Item("nulls", "bigint", read(f"COUNT(CASE WHEN {of} IS NULL THEN 1 END)"))
    plan, counted = _counted(ctx, subquery, plan, inner, tied, (nulls,))
    alias = ctx.alias("matched")
    keys = tuple(map(as_item, (*subquery.tie_fields, item)))
    distinct = Aggregate(inner, f"{alias}_rows", keys, ())
    there = Item("there", "boolean", exp.true())
    known = Project(distinct, alias, (*map(as_item, distinct.fields), there))
    match = exp.EQ(this=operand(tested), expression=column(alias, item.name))
    plan = OuterJoin(plan, known, (*_again(tied, known), match))
    text = f"CASE WHEN {alias}.there THEN TRUE WHEN COALESCE({counted}.n, 0) = 0 THEN FALSE"
    value = read(f"{text} WHEN NULL OR {counted}.nulls > 0 THEN NULL ELSE FALSE END")
    open_ = value.args["ifs"][2].this
    open_.set("this", exp.Is(this=operand(tested), expression=exp.Null()))
    return plan, value


def _compared(
    ctx: Context, subquery: Subquery, plan: Relation, inner: Relation, arguments: list[Expression]
) -> Attached:
    """Any other comparison as a value: for all values that occur, how many items meet it, and may meet it."""
    tested = arguments[subquery.ties :]
    types = [*(f.type for f in subquery.tie_fields), *ctx.types(tested, plan.fields, tested[0])]
    items = tuple(Item(f"v{n}", t, a) for n, (t, a) in enumerate(zip(types, arguments, strict=True)))
    values = Project(plan, ctx.alias("around"), items)
    occurring = Aggregate(values, ctx.alias("occurring"), tuple(map(as_item, values.fields)), ())
    occurring_values = [f.expression for f in occurring.fields]
    compared = [f.expression for f in inner.fields]
    maybe = subquery.comparison.may_hold(occurring_values[subquery.ties :], compared)
    tied = [same(o, f.expression) for o, f in zip(occurring_values, subquery.tie_fields, strict=False)]
    meets = conjunction(subquery.comparison.holds(occurring_values[subquery.ties :], compared))
    met = exp.Count(this=exp.Case(ifs=[exp.If(this=meets, true=literal(1))]), big_int=True)
    keys = tuple(map(as_item, occurring.fields))
    counted = Aggregate(
        Join((occurring, inner), (*tied, *maybe)), ctx.alias("compared"), keys, (Item("n", "bigint", met),)
    )
    again = tuple(same(a, column(counted.alias, k.name)) for a, k in zip(arguments, keys, strict=True))
    value = read(f"CASE WHEN {counted.alias}.n > 0 THEN TRUE WHEN {counted.alias}.n = 0 THEN NULL ELSE FALSE END")
    return OuterJoin(plan, counted, again), value


def without_domain(
    subquery: Subquery, arguments: list[Expression]
) -> tuple[Relation, list[Expression], list[Expression]] | None:
    """A subquery whose own WHERE compares with the query around: its rows, those conditions, and its items.

    ``P ⋉_{d} π(σ_c(R × D)) = P ⋉_{c with P for D} R`` if D occurs nowhere else: no domain is needed.
    """
    match subquery.plan:
        case Project(input=Filter(input=Join(inputs=(rows, Scan() as domain), conditions=()), conditions=conditions)):
            pass
        case _:
            return None
    elsewhere = (n for n in walk(rows) if isinstance(n, Scan) and n.relation == subquery.domain)
    if domain.relation != subquery.domain or next(elsewhere, None) is not None:
        return None
    around = dict(zip((f.ref for f in domain.fields), arguments, strict=False))
    alone = tuple(c for c in conditions if not any(r in around for r in refs(c)))
    both = [substitute(c, around) for c in conditions if c not in alone]
    items = [substitute(i.expression, around) for i in subquery.plan.items]
    return (Filter(rows, alone) if alone else rows), both, items

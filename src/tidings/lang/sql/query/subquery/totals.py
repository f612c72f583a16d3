"""Aggregates without GROUP BY in queries that depend on others: one row for every value around, also over no rows.

``(SELECT count(*) FROM t WHERE t.k = o.k)`` has one row whatever ``o.k`` is.  Grouped by what ties it to the query
around, as unnesting has it, it has none where no row of ``t`` fits.  So the domain ``D`` of the values around is
joined with the groups ``A``, and where there is no group the aggregates say what they say of no rows::

    total = π(D ⟕_d A)

HAVING, windows, the list, set operations and all that surrounds the query come after it and need not know.

Where the query is no more than a list and conditions over such a total, it has at most one row for each row of the
plan ``P`` around it, and the domain can go: ``P ⋈_d σ_c(D ⟕_d A) = σ_c(P ⟕_d A)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tidings.ir.expression import Expression, cast, column, conjunction, literal, refs, substitute, typed_null
from tidings.ir.relation import Aggregate, Filter, Item, Join, OuterJoin, Project, Relation, Scan, Values
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.bound import one_row
from tidings.lang.sql.query.subquery.dependent import Subquery, as_item, same, with_domain

_THERE = "__there"

_COUNTS = exp.Count | exp.CountIf | exp.ApproxDistinct
_VARIANCES = exp.Stddev | exp.StddevPop | exp.StddevSamp | exp.Variance | exp.VariancePop
_NULL_OF_NOTHING = (
    exp.Sum | exp.Avg | exp.Min | exp.Max | exp.ArgMin | exp.ArgMax | exp.LogicalAnd | exp.LogicalOr | _VARIANCES
)


def completed(ctx: Context, groups: Aggregate, domain: Scan) -> Project:
    """Groups by what ties them to the query around, with a row for every value of the domain.

    Their keys stand for the columns of the domain, in this order.  The result has the columns of the groups, under the
    same alias.
    """
    around = Scan(domain.relation, ctx.alias("domain"), domain.columns)
    there = Item(_THERE, "boolean", exp.true())
    known = Project(groups, ctx.alias("total"), (*map(as_item, groups.fields), there))
    pairs = [(d.expression, column(known.alias, k.name)) for d, k in zip(around.fields, groups.keys, strict=True)]
    left: Relation = around
    nothing = _of_nothing(ctx, groups)
    if nothing is not None:
        left = Join((around, nothing), ())
    total = OuterJoin(left, known, tuple(same(d, k) for d, k in pairs))
    items = [Item(k.name, k.type, d) for k, (d, _) in zip(groups.keys, pairs, strict=True)]
    for item in groups.aggregates:
        value: Expression = column(known.alias, item.name)
        default = _default(item, nothing)
        if default is not None:
            missing = exp.Is(this=column(known.alias, _THERE), expression=exp.Null())
            value = exp.If(this=missing, true=default, false=value)
        items.append(Item(item.name, item.type, value))
    return Project(total, groups.alias, tuple(items))


def _default(item: Item, nothing: Aggregate | None) -> Expression | None:
    """What an aggregate says of no rows; None for NULL."""
    call = _call(item.expression)
    if isinstance(call, _COUNTS):
        return cast(literal(0), item.type)
    return None if nothing is None or isinstance(call, _NULL_OF_NOTHING) else column(nothing.alias, item.name)


def _call(aggregate: Expression) -> Expression:
    while isinstance(aggregate, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        aggregate = aggregate.this
    return aggregate


def _of_nothing(ctx: Context, groups: Aggregate) -> Aggregate | None:
    """The aggregates over no rows, where it is not plain what they say."""
    unknown = [i for i in groups.aggregates if not isinstance(_call(i.expression), _COUNTS | _NULL_OF_NOTHING)]
    if not unknown:
        return None
    mentioned = {r for i in unknown for r in refs(i.expression)}
    fields = [f for f in groups.input.fields if f.ref in mentioned]
    no_rows = Filter(one_row(ctx), (exp.false(),))
    columns = [Item(f"c{n}", f.type, typed_null(f.type)) for n, f in enumerate(fields)] or [
        Item("one", "int", literal(1))
    ]
    empty = Project(no_rows, ctx.alias("empty"), tuple(columns))
    by = dict(zip((f.ref for f in fields), (f.expression for f in empty.fields), strict=False))
    items = tuple(Item(i.name, i.type, substitute(i.expression, by)) for i in unknown)
    return Aggregate(empty, ctx.alias("nothing"), (), items)


@dataclass(frozen=True, slots=True)
class RowByRow:
    """A total as columns of the plan around it: at most one row for each of its rows."""

    plan: Relation
    items: list[Expression]
    holds: Expression | None
    """When the row is there; None for always."""


def is_row_by_row(subquery: Subquery) -> bool:
    """Whether a dependent subquery is a list and conditions over a total."""
    return _parts(subquery) is not None


def row_by_row(ctx: Context, subquery: Subquery, plan: Relation, arguments: list[Expression]) -> RowByRow | None:
    """``P ⋈_d π(σ_c(D ⟕_d A)) = π(σ_c(P ⟕_d A))``: the parts of the right side, if the subquery is of this form."""
    parts = _parts(subquery)
    if parts is None:
        return None
    out, conditions, total, domain, join = parts
    by_total = {(total.alias, i.name): i.expression for i in total.items}
    by_domain = dict(zip((f.ref for f in domain.fields), arguments, strict=False))

    def moved(expression: Expression) -> Expression:
        return substitute(substitute(expression, by_total), by_domain)

    left = plan if join.left is domain else Join((plan, *join.left.inputs[1:]), ())  # type: ignore[union-attr]
    right = with_domain(ctx, join.right, subquery.domain, plan, arguments)
    joined = OuterJoin(left, right, tuple(substitute(c, by_domain) for c in join.conditions))
    holds = conjunction([moved(c) for c in conditions]) if conditions else None
    return RowByRow(joined, [moved(i.expression) for i in out.items], holds)


def _parts(
    subquery: Subquery,
) -> tuple[Project, tuple[Expression, ...], Project, Scan, OuterJoin] | None:
    """The list, the conditions, the total, its domain and its join, if there is nothing else."""
    out = subquery.plan
    conditions: tuple[Expression, ...] = ()
    if not subquery.ties or not isinstance(out, Project):
        return None
    inner = out.input
    while isinstance(inner, Filter):
        conditions, inner = (*inner.conditions, *conditions), inner.input
    if not isinstance(inner, Project) or not isinstance(inner.input, OuterJoin):
        return None
    join = inner.input
    domain = join.left.inputs[0] if isinstance(join.left, Join) else join.left
    if not isinstance(domain, Scan) or domain.relation != subquery.domain or join.right.fields[-1].name != _THERE:
        return None
    return out, conditions, inner, domain, join


def has_one_row(plan: Relation) -> bool:
    """Whether a plan that depends on nothing has exactly one row: a total, or a row of constants."""
    while isinstance(plan, Project):
        plan = plan.input
    return (isinstance(plan, Aggregate) and not plan.keys) or (isinstance(plan, Values) and len(plan.rows) == 1)

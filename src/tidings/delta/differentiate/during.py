"""Δ(τ_c A): rows enter and leave at instants of their own, whether or not a table changes.

Let ``c(r, b)`` say whether the condition holds for row ``r`` at instant ``b``, as 0 or 1, and let ``B(r)`` hold every
instant at which that may change.  In a batch over ``(since, until]`` a row of the old state counts at the start as
``c(r, since)``, and a changed one from its own instant on:

    Δ  =  { (r, b, w · (c(r, b) - c(r, b-1)))  :  (r, w) ∈ A,      b ∈ B(r),        since < b ≤ until }
       ⊎  { (r, b, w · (c(r, b) - c(r, b-1)))  :  (r, t, w) ∈ ΔA,  b ∈ B(r),        t < b ≤ until }
       ⊎  { (r, t, w ·  c(r, t))               :  (r, t, w) ∈ ΔA }

The condition itself is judged at every instant, so any combination by AND, OR, NOT and CASE, with NULLs, is exact, and
``B(r)`` may hold instants at which nothing happens.

Cost: the changes, and of the old state the rows with an instant inside the batch.  Where an instant is a column plus
a constant, that is a range of the column, which the engine can prune by.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis.time_range import time_range
from tidings.delta.versioned import Versioned
from tidings.ir.expression import (
    SINCE,
    TIME,
    UNTIL,
    WEIGHT,
    Expression,
    at_instant,
    cast,
    column,
    conjunction,
    literal,
    operand,
)
from tidings.ir.relation import VERSION_COLUMNS, Column, During, Filter, Item, Project, Relation, Unnest

_AT = "__b"


def state(node: During, rows: Versioned) -> Versioned:
    """The rows of the old state for which the condition held when the batch began."""
    return rows.over(Filter(rows.plan, (at_instant(node.condition, SINCE),)))


def crossing(node: During, rows: Versioned) -> Versioned:
    """Rows of the old state that enter or leave inside the batch."""
    types = {f.ref: f.type for f in node.fields}
    near = exp.or_(*(_inside(i, types) for i in node.instants), copy=False)
    moments = _moments(node, rows.over(Filter(rows.plan, (exp.Paren(this=near),))), node.instants)
    at = column(_alias(node), _AT)
    crossed = Filter(moments, (exp.GT(this=at, expression=SINCE.copy()), exp.LTE(this=at, expression=UNTIL.copy())))
    return _weighed(node, crossed, _difference(node, at))


def changed(node: During, rows: Versioned) -> Versioned:
    """Changed rows: at their own instants, and at those that follow in the batch."""
    at, arrival = column(_alias(node), _AT), column(_alias(node), TIME)
    moments = _moments(node, rows, (arrival, *node.instants))
    later = Filter(moments, (exp.GTE(this=at, expression=arrival), exp.LTE(this=at, expression=UNTIL.copy())))
    first = exp.EQ(this=at, expression=arrival)
    return _weighed(node, later, exp.If(this=first, true=_holds(node, at), false=_difference(node, at)))


def _inside(instant: Expression, types: dict[tuple[str, str], str]) -> Expression:
    """Whether an instant lies in the batch; said of a column as well, where the instant is that close to one."""
    later = exp.GT(this=operand(instant), expression=SINCE.copy())
    no_later = exp.LTE(this=operand(instant), expression=UNTIL.copy())
    return exp.Paren(this=conjunction([*time_range(instant, types), later, no_later]))


def _moments(node: During, rows: Versioned, instants: tuple[Expression, ...]) -> Relation:
    """Each row with each of its instants once; instant and weight of the row itself travel along."""
    alias = _alias(node)
    items = tuple(Item(f.name, f.type, f.expression) for f in node.fields)
    plain = rows.projected(alias, items, VERSION_COLUMNS).plan
    array = exp.ArrayDistinct(this=exp.Array(expressions=[cast(i, "bigint") for i in instants]))
    unnest = Unnest(plain, f"{alias}_moment", Column(_AT, "bigint"), array)
    return Project(unnest, alias, tuple(Item(f.name, f.type, f.expression) for f in unnest.fields))


def _holds(node: During, at: Expression) -> Expression:
    """1 where the condition holds at an instant, else 0."""
    return exp.If(this=at_instant(node.condition, at), true=literal(1), false=literal(0))


def _difference(node: During, at: Expression) -> Expression:
    before = exp.Sub(this=at.copy(), expression=literal(1))
    return exp.Sub(this=operand(_holds(node, at)), expression=operand(_holds(node, before)))


def _weighed(node: During, moments: Relation, factor: Expression) -> Versioned:
    alias = _alias(node)
    weight = exp.Mul(this=column(alias, WEIGHT), expression=operand(factor))
    items = (
        *(Item(f.name, f.type, f.expression) for f in node.fields),
        Item(TIME, "bigint", column(alias, _AT)),
        Item(WEIGHT, "bigint", cast(weight, "bigint")),
    )
    plan = Project(moments, alias, items)
    return Versioned(plan, column(alias, TIME), column(alias, WEIGHT))


def _alias(node: During) -> str:
    """The one alias of the input, which its isolation gave it."""
    return node.fields[0].alias

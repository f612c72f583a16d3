"""The delta of a grouping from its old rows and the changes of its input: where it is stored, no input is read.

Every accumulator ``a`` of a group (:mod:`tidings.rewrite.accumulate`) is a sum, or while rows only come a least or
greatest value, so its value at an instant is the old one and what the changes up to then add:

    a(k, t)  =  a(k)  ⊕  ⊕ { x : (k, x) ∈ ΔA up to t }

One row per touched key and instant, a running total over them, and what differs from one instant to the next:

    P  =  γ_{k, t; ⊕ x}(ΔA)  ⊎  { (k, 0, a) : the stored row of k }        R  =  running ⊕ of P per k

A group is there while its row count is positive; without keys it always is.

Cost: the changes, and one row per touched key: stored, or made of the key's old rows
(:mod:`tidings.delta.running_aggregates`).
"""

from __future__ import annotations

from sqlglot import exp

from tidings.delta.keyed import SINCE, UNTIL, differences, touched
from tidings.delta.versioned import BEFORE, Versioned, plain
from tidings.ir.expression import TIME, WEIGHT, Expression, cast, column, literal, operand, read, show_name
from tidings.ir.relation import (
    Aggregate,
    Column,
    Filter,
    Item,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    Union,
    Version,
    Window,
)
from tidings.rewrite.accumulate import ROWS

_ALL = "merged"


def delta(name: str, groups: Aggregate) -> Relation:
    """The changes of a grouping into accumulators whose rows are known as ``name``."""
    scan = groups.input
    assert isinstance(scan, Scan)
    keys = tuple(Column(k.name, k.type) for k in groups.keys)
    totals = tuple(Column(a.name, a.type) for a in groups.aggregates)
    columns = (*keys, Column(SINCE, "bigint"), *totals)
    both = Union((_kept(name, groups, scan, columns), _per_instant(groups, scan)), _ALL, columns)
    per = ", ".join(f"{_ALL}.{show_name(k.name)}" for k in keys)
    over = f"OVER ({f'PARTITION BY {per} ' if per else ''}ORDER BY {_ALL}.{SINCE})"
    running = [Item(a.name, a.type, _running(a, over)) for a in groups.aggregates]
    following = Item(UNTIL, "bigint", read(f"LEAD({_ALL}.{SINCE}) {over}"))
    window = Window(both, "running", (*running, following))
    items = (
        *(Item(k.name, k.type, column(_ALL, k.name)) for k in keys),
        *(Item(a.name, a.type, cast(column("running", a.name), a.type)) for a in totals),
        Item(SINCE, "bigint", column(_ALL, SINCE)),
        Item(UNTIL, "bigint", column("running", UNTIL)),
    )
    answers: Relation = Project(window, groups.alias, items)
    if keys:
        answers = Filter(answers, (exp.GT(this=column(groups.alias, ROWS), expression=literal(0)),))
    return differences(name, groups.alias, (*keys, *totals), answers)


def _kept(name: str, groups: Aggregate, scan: Scan, columns: tuple[Column, ...]) -> Relation:
    """The rows of the touched keys, as of before the batch."""
    stored_columns = tuple(c for c in columns if c.name != SINCE)
    stored = Scan(name, "before", stored_columns, Version.OLD)
    old: Relation = stored
    for key in groups.keys:
        changed = Scan(scan.relation, scan.alias, scan.columns, Version.DELTA)
        keys = touched(key.type, [(changed, key.expression)])
        old = Restrict(old, column("before", key.name), keys, null_safe=True)
    current = Scan(name, "before", stored_columns)
    rows = plain(current, Versioned(old, None, column("before", WEIGHT)))
    items = (Item(c.name, c.type, _before() if c.name == SINCE else column("before", c.name)) for c in columns)
    return Project(rows, "as_before", tuple(items))


def _before() -> Expression:
    return cast(literal(BEFORE), "bigint")


def _per_instant(groups: Aggregate, scan: Scan) -> Relation:
    """What the changes add to each touched key at each instant."""
    changed = Scan(scan.relation, scan.alias, scan.columns, Version.DELTA)
    weight = column(scan.alias, WEIGHT)
    each = Repeat(changed, cast(exp.Abs(this=weight.copy()), "bigint"))
    at = Item(SINCE, "bigint", column(scan.alias, TIME))
    added = tuple(Item(a.name, a.type, _added(a, weight)) for a in groups.aggregates)
    return Aggregate(each, "added", (*groups.keys, at), added)


def _added(accumulator: Item, weight: Expression) -> Expression:
    """What changes add to an accumulator: what comes counts, what goes counts against it."""
    match accumulator.expression:
        case exp.Count(this=exp.Star()):
            return cast(exp.Sum(this=_signed(literal(1), weight)), "bigint")
        case exp.Count(this=argument):
            known = exp.If(
                this=exp.Is(this=operand(argument), expression=exp.Null()),
                true=literal(0),
                false=_signed(literal(1), weight),
            )
            return cast(exp.Sum(this=known), "bigint")
        case exp.Coalesce(this=exp.Sum(this=argument)):
            total = exp.Sum(this=_signed(cast(argument, accumulator.type), weight))
            return cast(exp.Coalesce(this=total, expressions=[literal(0)]), accumulator.type)
        case exp.Min() | exp.Max() as extreme:
            return extreme
        case other:
            raise ValueError(f"{other.sql()} is not an accumulator")


def _signed(value: Expression, weight: Expression) -> Expression:
    gone = exp.LT(this=weight.copy(), expression=literal(0))
    return exp.If(this=gone, true=exp.Neg(this=operand(value)), false=value.copy())


def _running(accumulator: Item, over: str) -> Expression:
    match accumulator.expression:
        case exp.Min():
            function = "MIN"
        case exp.Max():
            function = "MAX"
        case _:
            function = "SUM"
    return read(f"{function}({_ALL}.{show_name(accumulator.name)}) {over}")

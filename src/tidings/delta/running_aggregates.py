"""Groupings whose answers are carried on from instant to instant, instead of being evaluated at each.

A part that groups is split into its accumulators, counts and exact sums, and what is made of them
(:mod:`tidings.rewrite.accumulate`).  The accumulators are then merged (:mod:`tidings.delta.merge`): the old rows of a
touched group are summed up once, however many instants touch it, and the changes are added one after the other.

Withheld for least and greatest values, which cannot be carried on past a row that goes; for sums of 64-bit integers
within 64 bits, which may not fit on the way from one to the next though both do; and for groupings that are stored.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import refs
from tidings.ir.relation import Aggregate, Column, Project, Relation, Scan
from tidings.rewrite.accumulate import accumulate, grows_only


def running_aggregates(name: str, plan: Relation) -> tuple[Relation, dict[str, Aggregate]]:
    """A part over its accumulators, and these by a name of their own; the part itself if it cannot be split."""
    node = plan.input if isinstance(plan, Project) else plan
    split = accumulate(node) if isinstance(node, Aggregate) else None
    if split is None or grows_only(split[0]) or _may_overflow(split[0]):
        return plan, {}
    groups, values = split
    sums = f"{name}#sums"
    scan = Scan(sums, groups.alias, tuple(Column(f.name, f.type) for f in groups.fields))
    over = Project(scan, values.alias, values.items)
    return Project(over, plan.alias, plan.items) if isinstance(plan, Project) else over, {sums: groups}


def _may_overflow(groups: Aggregate) -> bool:
    """Whether a sum has no more room than what it adds up."""
    types = {f.ref: f.type for f in groups.input.fields}
    sums = (i.expression for i in groups.aggregates if i.type == "bigint" and i.expression.find(exp.Sum) is not None)
    return any(types[r] == "bigint" for sum in sums for r in refs(sum))

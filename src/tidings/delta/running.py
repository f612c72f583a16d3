"""Groupings whose answers are carried on from instant to instant, instead of being evaluated at each.

A part that groups is split into its accumulators, counts and exact sums, and what is made of them
(:mod:`tidings.rewrite.accumulate`).  The accumulators are then merged (:mod:`tidings.delta.merge`): the old rows of a
touched group are summed up once, however many instants touch it, and the changes are added one after the other.

Withheld for least and greatest values, which cannot be carried on past a row that goes, and for groupings that are kept
anyway.
"""

from __future__ import annotations

from tidings.ir.relation import Aggregate, Column, Project, Relation, Scan
from tidings.rewrite.accumulate import accumulate, grows_only


def running(name: str, plan: Relation) -> tuple[Relation, dict[str, Aggregate]]:
    """A part over its accumulators, and these by a name of their own; the part itself if it cannot be split."""
    node = plan.input if isinstance(plan, Project) else plan
    split = accumulate(node) if isinstance(node, Aggregate) else None
    if split is None or grows_only(split[0]):
        return plan, {}
    groups, values = split
    own = f"{name}#sums"
    scan = Scan(own, groups.alias, tuple(Column(f.name, f.type) for f in groups.fields))
    over = Project(scan, values.alias, values.items)
    return Project(over, plan.alias, plan.items) if isinstance(plan, Project) else over, {own: groups}

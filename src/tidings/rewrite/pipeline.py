"""The order in which a query is normalised, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tidings.ir.relation import Relation
from tidings.rewrite.expand_views import expand_views
from tidings.rewrite.flatten_unions import flatten_unions
from tidings.rewrite.gather_single_rows import gather_single_rows
from tidings.rewrite.isolate_keyed import isolate_keyed
from tidings.rewrite.merge_blocks import merge_blocks
from tidings.rewrite.prune_branches import prune_branches
from tidings.rewrite.prune_columns import prune_columns
from tidings.rewrite.sink_filters import sink_filters
from tidings.rewrite.sink_time import sink_time


def normalise(plan: Relation, definitions: Mapping[str, Relation], keep: frozenset[str] = frozenset()) -> Relation:
    """The plan as the delta calculus wants it: joins n-ary, blocks few, columns no more than needed."""
    plan = expand_views(plan, definitions, keep)  # first: everything else works across view boundaries
    plan = sink_time(plan)  # before merging, which does not look past a condition on time
    plan = flatten_unions(plan)  # before merging, which stops at unions
    plan = prune_branches(plan)  # before merging: a union of which one branch is left is no union
    plan = merge_blocks(plan)  # one join per block, so that a differential is one SELECT
    plan = sink_filters(plan)  # after merging, which brings conditions next to the joins they can pass
    plan = gather_single_rows(plan)  # after merging, which brings totals into one join
    plan = prune_columns(plan)  # after merging, which shows which columns are used
    return isolate_keyed(plan)  # last: it gives names that the other rules need not know

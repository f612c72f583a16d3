"""At which sites a plan reads, and its largest parts that one site can compute alone.

A plan that reads at one site is intra-site: nothing has to be sent for it.  Of an inter-site one, only the deltas of
its local parts have to be.

>>> from tidings.ir.text import parse
>>> plan = parse("filter [r.x > 1]\\n  scan r1 r [x int]")
>>> [site for site, _ in local_parts(plan, {"r1": "north"})]
['north']
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.ir.relation import Relation, Scan
from tidings.ir.traverse import children, walk

LOCAL = "local"
"""The site of relations that nobody says a site of."""


def sites(plan: Relation, by_table: Mapping[str, str]) -> frozenset[str]:
    """The sites that a plan reads from."""
    return frozenset(by_table.get(node.relation, LOCAL) for node in walk(plan) if isinstance(node, Scan))


def local_parts(plan: Relation, by_table: Mapping[str, str]) -> tuple[tuple[str, Relation], ...]:
    """The largest parts of a plan that one site computes alone, each with its site, from left to right."""
    read = sites(plan, by_table)
    if len(read) == 1:
        return ((next(iter(read)), plan),)
    return tuple(part for below in children(plan) for part in local_parts(below, by_table))

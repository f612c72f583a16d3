"""What a query depends on: the edges of the dependency network."""

from __future__ import annotations

from collections.abc import Mapping

from tidings.ir.relation import Relation, Scan
from tidings.ir.traverse import walk


def reads(plan: Relation) -> frozenset[str]:
    """The tables and views a plan scans itself."""
    return frozenset(n.relation for n in walk(plan) if isinstance(n, Scan))


def influents(plan: Relation, definitions: Mapping[str, Relation]) -> frozenset[str]:
    """The tables a plan depends on, directly or through views."""
    direct = reads(plan)
    below = (influents(definitions[r], definitions) for r in direct if r in definitions)
    return frozenset(r for r in direct if r not in definitions).union(*below)

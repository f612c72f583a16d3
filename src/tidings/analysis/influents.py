"""What a query depends on: the edges of the dependency network."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tidings.compiled import Identity
from tidings.ir.relation import During, Relation, Scan
from tidings.ir.traverse import walk

CLOCK = "now()"
"""The passing of time, as an influent of plans with a condition on it."""


def reads(plan: Relation) -> frozenset[str]:
    """The tables and views a plan scans itself, and the clock if it reads that."""
    return _reads(Identity(plan))


@lru_cache(maxsize=2048)
def _reads(of: Identity[Relation]) -> frozenset[str]:
    """The same, found out once per plan: every wave asks."""
    plan = of.of
    return frozenset(n.relation if isinstance(n, Scan) else CLOCK for n in walk(plan) if isinstance(n, Scan | During))


def influents(plan: Relation, definitions: Mapping[str, Relation]) -> frozenset[str]:
    """The tables a plan depends on, directly or through views, and the clock if it does on that."""
    direct = reads(plan)
    below = (influents(definitions[r], definitions) for r in direct if r in definitions)
    return frozenset(r for r in direct if r not in definitions).union(*below)

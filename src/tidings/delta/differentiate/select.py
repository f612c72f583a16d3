"""Δ(σ_c A) = σ_c(ΔA): a filter is linear."""

from __future__ import annotations

from tidings.delta.versioned import Versioned
from tidings.ir.relation import Filter


def apply(node: Filter, rows: Versioned) -> Versioned:
    """The filter over a delta or a state."""
    return rows.over(Filter(rows.plan, node.conditions))

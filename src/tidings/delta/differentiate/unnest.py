"""Δ(μ_a A) = μ_a(ΔA): unnesting an array is linear; each element comes and goes with its row."""

from __future__ import annotations

from tidings.delta.versioned import Versioned
from tidings.ir.relation import Unnest


def apply(node: Unnest, rows: Versioned) -> Versioned:
    """The elements of a delta's or a state's rows."""
    return rows.over(Unnest(rows.plan, node.alias, node.element, node.array))

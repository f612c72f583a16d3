"""Δ(π_f A) = π_f(ΔA): a projection is linear.  Rows that become equal add their weights."""

from __future__ import annotations

from tidings.delta.versioned import Versioned
from tidings.ir.relation import Project


def apply(node: Project, rows: Versioned) -> Versioned:
    """The projection over a delta or a state; instant and weight travel along as columns."""
    return rows.projected(node.alias, node.items)

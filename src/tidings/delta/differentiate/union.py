"""Δ(A ⊎ B) = ΔA ⊎ ΔB: a union of bags is linear.  A branch that did not change has no term."""

from __future__ import annotations

from tidings.delta.versioned import Versioned, stacked
from tidings.ir.relation import Item, Relation, Union


def branch(node: Union, branch: Relation, rows: Versioned) -> Versioned:
    """One branch's delta under the names of the union."""
    pairs = zip(node.columns, branch.fields, strict=True)
    return rows.projected(node.alias, tuple(Item(c.name, c.type, f.expression) for c, f in pairs))


def state(node: Union, branches: list[Versioned]) -> Versioned:
    """All branches' rows."""
    return stacked(branches, [b.fields for b in node.inputs], node.alias, node.columns)

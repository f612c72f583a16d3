"""Δ(constant) = ∅; its rows are the same in every state."""

from __future__ import annotations

from tidings.delta.versioned import Versioned
from tidings.ir.relation import Values


def state(node: Values) -> Versioned:
    """The constant rows, each once, from before any batch."""
    return Versioned(node, None, None)

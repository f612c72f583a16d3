"""Δ(A ⋈ B) = ΔA ⋈ (B + ΔB)  ⊎  A ⋈ ΔB: one term per changed input.

For n inputs the term of input i reads the inputs before it in their old state and those after it in their new one:

    ∂/∂A_i  =  A_1 ⋈ … ⋈ A_{i-1} ⋈ ΔA_i ⋈ (A_{i+1} + ΔA_{i+1}) ⋈ … ⋈ (A_n + ΔA_n)

Summed over the changed i this telescopes to the whole change.  Weights multiply, so a deletion joined with a row
removes their combination, and a deletion joined with a deletion puts back what both removed.  The instant of a
combination is the latest of its rows' instants: from then on all of them are there.
"""

from __future__ import annotations

from tidings.delta.versioned import Versioned, combined
from tidings.ir.relation import Join


def apply(node: Join, inputs: list[Versioned]) -> Versioned:
    """The join over one version per input."""
    return combined(inputs, Join(tuple(i.plan for i in inputs), node.conditions))

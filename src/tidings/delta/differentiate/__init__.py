"""The delta of a plan, as a sum of partial differentials.

    Δ P  =  Σ  ∂P/∂R     over the occurrences of changed relations R in P

Each term substitutes one occurrence of a changed relation by its delta and reads every other relation in its old
or its new state (see :mod:`tidings.delta.differentiate.join`).  Occurrences of unchanged relations have no term:
their plans are never built.

One file per operator; this one is the total function that picks among them.
"""

from tidings.delta.differentiate.driver import Differential, differentiate, state

__all__ = ["Differential", "differentiate", "state"]

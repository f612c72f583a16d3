"""The delta of a plan, as a sum of partial differentials: Δ P = Σ ∂P/∂R over the occurrences of changed relations R.

A term puts the delta of one occurrence in its place and reads every other relation in its old or its new state.
Occurrences of unchanged relations have no term.  One file per operator, and ``driver`` picks among them.  The room
imports ``ir``, ``analysis`` and its neighbours in ``delta``.
"""

from tidings.delta.differentiate.driver import Differential, differentiate, state

__all__ = ["Differential", "differentiate", "state"]

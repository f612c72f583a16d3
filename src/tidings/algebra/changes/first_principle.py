"""Changes by the first principle: the expression before, the expression after, and what differs.

    d_V = E(R1, …, Rn) - E(R1', …, Rn')        i_V = E(R1', …, Rn') - E(R1, …, Rn)

This is the definition.  It evaluates the whole expression twice, so it is what the other ways are held against.
"""

from __future__ import annotations

from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.expressions.evaluate import evaluate
from tidings.algebra.expressions.nodes import AlgebraExpression


def first_principle(expression: AlgebraExpression, substitutions: SubstitutionList) -> DeltaPair:
    """The change of an expression, by evaluating it in both states."""
    return DeltaPair.between(evaluate(expression, substitutions.old), evaluate(expression, substitutions.new))

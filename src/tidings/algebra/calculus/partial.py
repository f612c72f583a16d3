"""Partial differentials: how one influent, changing one way, changes a set expression.

Table 1 of Risch and Sköld, "Monitoring Complex Rule Conditions".  The sign is that of the change in P; for the
right side of a difference it is the opposite of the change in R.

    P         ∂P/∂+Q        ∂P/∂+R        ∂P/∂-Q          ∂P/∂-R
    σ Q       σ Δ+Q                       σ Δ-Q
    π Q       π Δ+Q                       π Δ-Q
    Q ∪ R     Δ+Q − R_old   Δ+R − Q_old   Δ-Q − R         Δ-R − Q
    Q − R     Δ+Q − R       Q ∩ Δ-R       Δ-Q − R_old     Q_old ∩ Δ+R
    Q × R     Δ+Q × R       Q × Δ+R       Δ-Q × R_old     Q_old × Δ-R
    Q ⋈ R     Δ+Q ⋈ R       Q ⋈ Δ+R       Δ-Q ⋈ R_old     Q_old ⋈ Δ-R
    Q ∩ R     Δ+Q ∩ R       Q ∩ Δ+R       Δ-Q ∩ R_old     Q_old ∩ Δ-R

Positive differentials read the new state, negative ones the old: a tuple that is gone had its partners in the old
state, and they may be gone with it.  The union is the exception, for it asks whether the other side had the tuple
before a gain, or has it after a loss.

A nested expression is differentiated by the chain rule: the differential of the operand takes the place of ΔQ.

Exactness.  With exact delta-sets every row of the table but π is exact.  A projection claims too much: the tuple it
gains may have been derived from another tuple before, and the one it loses may still be.  Above a projection all
operators repeat the claim, and a difference turns a false loss on its right into a false gain.  No claim is ever
missing.  :func:`strict` takes the false ones out.

The example of the paper, p(X, Z) ← q(X, Y) ∧ r(Y, Z):

>>> from tidings.algebra.calculus import DeltaSet, Facts, Sign, delta, join, partial, project, relation, show
>>> q, r = relation("q", "X", "Y"), relation("r", "Y", "Z")
>>> p = project(join(q, r), "X", "Z")
>>> print(show(partial(p, "q", Sign.PLUS)))
π[X, Z] (Δ+q ⋈ r)
>>> facts = Facts.after(
...     {"q": {(1, 1)}, "r": {(1, 2), (2, 3)}},
...     {"q": DeltaSet.of(plus={(1, 2)}), "r": DeltaSet.of(plus={(1, 4)})},
... )
>>> print(delta(p, facts))
⟨{⟨1, 3⟩, ⟨1, 4⟩}, {}⟩
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from tidings.algebra.calculus.deltaset import Sign
from tidings.algebra.calculus.expression import (
    DeltaMinus,
    DeltaPlus,
    NaturalJoin,
    NewState,
    OldState,
    Projection,
    Selection,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    children,
    with_children,
)


def partial(node: SetExpression, influent: str, sign: Sign) -> SetExpression | None:
    """The differential by one influent and sign; None when the expression does not read the influent.

    An influent that occurs several times has one term per occurrence, and their union is the differential.

    >>> from tidings.algebra.calculus.expression import relation
    >>> from tidings.algebra.calculus.text import show
    >>> print(show(partial(SetDifference(relation("Q", "x"), relation("R", "x")), "R", Sign.MINUS)))
    Q_old ∩ Δ+R
    """
    terms = _terms(node, influent, sign)
    return reduce(SetUnion, terms) if terms else None


def strict(node: SetExpression, influent: str, sign: Sign) -> SetExpression | None:
    """The differential cut down to real changes: what holds now and did not before, or the reverse.

    >>> from tidings.algebra.calculus.expression import project, relation
    >>> from tidings.algebra.calculus.text import show
    >>> print(show(strict(project(relation("Q", "x", "y"), "x"), "Q", Sign.PLUS)))
    (π[x] Δ+Q ∩ π[x] Q) − π[x] Q_old
    """
    claim = partial(node, influent, sign)
    if claim is None:
        return None
    after, before = _same(node, sign), _other(node, sign)
    return SetDifference(SetIntersection(claim, after), before)


def differentials(node: SetExpression) -> dict[tuple[str, Sign], SetExpression]:
    """All partial differentials of an expression: two for each influent."""
    cells = {(name, sign): partial(node, name, sign) for name in sorted(influents(node)) for sign in Sign}
    return {cell: differential for cell, differential in cells.items() if differential is not None}


def influents(node: SetExpression) -> frozenset[str]:
    """The relations an expression reads."""
    if isinstance(node, NewState):
        return frozenset({node.name})
    return frozenset[str]().union(*map(influents, children(node)))


def old(node: SetExpression) -> SetExpression:
    """The expression in the old state: that of every relation it reads."""
    match node:
        case NewState():
            return OldState(node.name, node.attributes)
        case OldState() | DeltaPlus() | DeltaMinus():
            raise ValueError("a differential has no old state")
        case _:
            return with_children(node, tuple(map(old, children(node))))


def _terms(node: SetExpression, influent: str, sign: Sign) -> list[SetExpression]:
    """One differential per occurrence of the influent."""
    match node:
        case NewState():
            leaf = DeltaPlus if sign is Sign.PLUS else DeltaMinus
            return [leaf(node.name, node.attributes)] if node.name == influent else []
        case OldState() | DeltaPlus() | DeltaMinus():
            raise ValueError("a differential cannot be differentiated again")
        case Selection():
            return [Selection(t, node.condition) for t in _terms(node.input, influent, sign)]
        case Projection():
            return [Projection(t, node.items) for t in _terms(node.input, influent, sign)]
        case SetUnion():
            return [
                *(SetDifference(t, _other(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(SetDifference(t, _other(node.left, sign)) for t in _terms(node.right, influent, sign)),
            ]
        case SetDifference():
            return [
                *(SetDifference(t, _same(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(SetIntersection(_same(node.left, sign), t) for t in _terms(node.right, influent, sign.opposite)),
            ]
        case SetProduct() | NaturalJoin() | SetIntersection():
            operator = type(node)
            return [
                *(operator(t, _same(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(operator(_same(node.left, sign), t) for t in _terms(node.right, influent, sign)),
            ]
        case _:
            assert_never(node)


def _same(node: SetExpression, sign: Sign) -> SetExpression:
    """The state in which the changed tuples are there: the new one for gains, the old one for losses."""
    return node if sign is Sign.PLUS else old(node)


def _other(node: SetExpression, sign: Sign) -> SetExpression:
    """The state in which they are not."""
    return _same(node, sign.opposite)

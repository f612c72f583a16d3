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
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from tidings.algebra.deltaset import Sign
from tidings.algebra.expression import (
    DeltaMinus,
    DeltaPlus,
    Difference,
    Expression,
    Intersect,
    Join,
    Old,
    Product,
    Project,
    Relation,
    Select,
    Union,
    children,
    with_children,
)


def partial(node: Expression, influent: str, sign: Sign) -> Expression | None:
    """The differential by one influent and sign; None when the expression does not read the influent.

    An influent that occurs several times has one term per occurrence, and their union is the differential.

    >>> from tidings.algebra.expression import relation
    >>> from tidings.algebra.text import show
    >>> print(show(partial(Difference(relation("Q", "x"), relation("R", "x")), "R", Sign.MINUS)))
    Q_old ∩ Δ+R
    """
    terms = _terms(node, influent, sign)
    return reduce(Union, terms) if terms else None


def strict(node: Expression, influent: str, sign: Sign) -> Expression | None:
    """The differential cut down to real changes: what holds now and did not before, or the reverse.

    >>> from tidings.algebra.expression import project, relation
    >>> from tidings.algebra.text import show
    >>> print(show(strict(project(relation("Q", "x", "y"), "x"), "Q", Sign.PLUS)))
    (π[x] Δ+Q ∩ π[x] Q) − π[x] Q_old
    """
    claim = partial(node, influent, sign)
    if claim is None:
        return None
    after, before = _same(node, sign), _other(node, sign)
    return Difference(Intersect(claim, after), before)


def differentials(node: Expression) -> dict[tuple[str, Sign], Expression]:
    """All partial differentials of an expression: two for each influent."""
    cells = {(name, sign): partial(node, name, sign) for name in sorted(influents(node)) for sign in Sign}
    return {cell: found for cell, found in cells.items() if found is not None}


def influents(node: Expression) -> frozenset[str]:
    """The relations an expression reads."""
    if isinstance(node, Relation):
        return frozenset({node.name})
    return frozenset[str]().union(*map(influents, children(node)))


def old(node: Expression) -> Expression:
    """The expression in the old state: that of every relation it reads."""
    match node:
        case Relation():
            return Old(node.name, node.attributes)
        case Old() | DeltaPlus() | DeltaMinus():
            raise ValueError("a differential has no old state")
        case _:
            return with_children(node, tuple(map(old, children(node))))


def _terms(node: Expression, influent: str, sign: Sign) -> list[Expression]:
    """One differential per occurrence of the influent."""
    match node:
        case Relation():
            leaf = DeltaPlus if sign is Sign.PLUS else DeltaMinus
            return [leaf(node.name, node.attributes)] if node.name == influent else []
        case Old() | DeltaPlus() | DeltaMinus():
            raise ValueError("a differential cannot be differentiated again")
        case Select():
            return [Select(t, node.condition) for t in _terms(node.input, influent, sign)]
        case Project():
            return [Project(t, node.items) for t in _terms(node.input, influent, sign)]
        case Union():
            return [
                *(Difference(t, _other(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(Difference(t, _other(node.left, sign)) for t in _terms(node.right, influent, sign)),
            ]
        case Difference():
            return [
                *(Difference(t, _same(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(Intersect(_same(node.left, sign), t) for t in _terms(node.right, influent, sign.opposite)),
            ]
        case Product() | Join() | Intersect():
            operator = type(node)
            return [
                *(operator(t, _same(node.right, sign)) for t in _terms(node.left, influent, sign)),
                *(operator(_same(node.left, sign), t) for t in _terms(node.right, influent, sign)),
            ]
        case _:
            assert_never(node)


def _same(node: Expression, sign: Sign) -> Expression:
    """The state in which the changed tuples are there: the new one for gains, the old one for losses."""
    return node if sign is Sign.PLUS else old(node)


def _other(node: Expression, sign: Sign) -> Expression:
    """The state in which they are not."""
    return _same(node, sign.opposite)

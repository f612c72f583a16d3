"""Text: parentheses where they matter, and nowhere else."""

from __future__ import annotations

import pytest

from tidings.algebra.calculus import (
    NaturalJoin,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    join,
    old,
    project,
    relation,
    select,
    show,
)

Q, R, S, T = relation("Q", "x"), relation("R", "x"), relation("S", "x"), relation("T", "y")


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (join(Q, R, S), "Q ⋈ R ⋈ S"),
        (NaturalJoin(Q, NaturalJoin(R, S)), "Q ⋈ (R ⋈ S)"),
        (SetDifference(SetDifference(Q, R), S), "Q − R − S"),
        (SetDifference(Q, SetDifference(R, S)), "Q − (R − S)"),
        (SetUnion(SetIntersection(Q, R), S), "(Q ∩ R) ∪ S"),
        (select(SetUnion(Q, R), "x>1"), "σ[x > 1] (Q ∪ R)"),
        (SetUnion(select(Q, "x > 1"), R), "σ[x > 1] Q ∪ R"),
        (project(select(SetProduct(Q, T), "x == y"), "x", "z = x+y"), "π[x, z = x + y] σ[x == y] (Q × T)"),
        (old(SetDifference(Q, project(R, "x"))), "Q_old − π[x] R_old"),
    ],
)
def test_text(node: SetExpression, text: str) -> None:
    assert show(node) == text

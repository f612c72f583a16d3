"""Text: parentheses where they matter, and nowhere else."""

from __future__ import annotations

import pytest

from tidings.algebra import (
    Difference,
    Expression,
    Intersect,
    Join,
    Product,
    Union,
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
        (Join(Q, Join(R, S)), "Q ⋈ (R ⋈ S)"),
        (Difference(Difference(Q, R), S), "Q − R − S"),
        (Difference(Q, Difference(R, S)), "Q − (R − S)"),
        (Union(Intersect(Q, R), S), "(Q ∩ R) ∪ S"),
        (select(Union(Q, R), "x>1"), "σ[x > 1] (Q ∪ R)"),
        (Union(select(Q, "x > 1"), R), "σ[x > 1] Q ∪ R"),
        (project(select(Product(Q, T), "x == y"), "x", "z = x+y"), "π[x, z = x + y] σ[x == y] (Q × T)"),
        (old(Difference(Q, project(R, "x"))), "Q_old − π[x] R_old"),
    ],
)
def test_text(node: Expression, text: str) -> None:
    assert show(node) == text

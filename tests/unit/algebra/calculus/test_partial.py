"""Partial differentials beyond single operators: the chain rule, several occurrences, exactness."""

from __future__ import annotations

import pytest

from tidings.algebra.calculus import (
    DeltaPlus,
    DeltaSet,
    Facts,
    OldState,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetUnion,
    Sign,
    differentials,
    evaluate,
    influents,
    join,
    old,
    partial,
    project,
    relation,
    select,
    show,
    strict,
)

PLUS, MINUS = Sign.PLUS, Sign.MINUS
Q, R, S = relation("Q", "x"), relation("R", "x"), relation("S", "x")
PAIRS = relation("E", "x", "y")


@pytest.mark.parametrize(
    ("node", "influent", "sign", "text"),
    [
        (select(SetUnion(Q, R), "x > 1"), "Q", PLUS, "σ[x > 1] (Δ+Q − R_old)"),
        (SetIntersection(SetUnion(Q, R), S), "R", MINUS, "(Δ-R − Q) ∩ S_old"),
        (SetIntersection(SetUnion(Q, R), S), "S", MINUS, "(Q_old ∪ R_old) ∩ Δ-S"),
        (SetDifference(Q, SetDifference(R, S)), "R", PLUS, "Q ∩ (Δ-R − S_old)"),
        (SetDifference(Q, SetDifference(R, S)), "S", PLUS, "Q ∩ (R_old ∩ Δ+S)"),
        (SetDifference(Q, SetDifference(R, S)), "S", MINUS, "Q_old ∩ (R ∩ Δ-S)"),
        (join(PAIRS, relation("E", "y", "z")), "E", PLUS, "(Δ+E ⋈ E) ∪ (E ⋈ Δ+E)"),
        (join(PAIRS, relation("E", "y", "z")), "E", MINUS, "(Δ-E ⋈ E_old) ∪ (E_old ⋈ Δ-E)"),
    ],
)
def test_chain_rule(node: SetExpression, influent: str, sign: Sign, text: str) -> None:
    found = partial(node, influent, sign)
    assert found is not None
    assert show(found) == text


def test_two_differentials_per_influent() -> None:
    assert list(differentials(SetUnion(Q, SetDifference(R, Q)))) == [
        ("Q", PLUS),
        ("Q", MINUS),
        ("R", PLUS),
        ("R", MINUS),
    ]
    assert influents(SetUnion(Q, SetDifference(R, Q))) == {"Q", "R"}


def test_no_differential_by_a_stranger() -> None:
    assert partial(SetUnion(Q, R), "S", PLUS) is None
    assert strict(SetUnion(Q, R), "S", PLUS) is None


@pytest.mark.parametrize("leaf", [OldState("Q", ("x",)), DeltaPlus("Q", ("x",))])
def test_a_differential_is_not_differentiated_again(leaf: SetExpression) -> None:
    with pytest.raises(ValueError, match="differential"):
        partial(SetUnion(Q, leaf), "Q", PLUS)
    with pytest.raises(ValueError, match="differential"):
        old(leaf)


def test_a_false_loss_becomes_a_false_gain() -> None:
    """Q − π[x] E: the pair (1, 1) goes, (1, 2) still hides 1.  The claim does not even hold in the new state."""
    node = SetDifference(Q, project(PAIRS, "x"))
    facts = Facts.after({"Q": {(1,)}, "E": {(1, 1), (1, 2)}}, {"E": DeltaSet.of(minus={(1, 1)})})
    claim, exact = partial(node, "E", PLUS), strict(node, "E", PLUS)
    assert claim is not None
    assert exact is not None
    assert evaluate(claim, facts) == {(1,)}
    assert evaluate(node, facts) == set()
    assert evaluate(exact, facts) == set()

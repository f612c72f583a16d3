"""Facts: states, rollback and the value of expressions."""

from __future__ import annotations

import pytest

from tidings.algebra import (
    DeltaMinus,
    DeltaPlus,
    DeltaSet,
    Facts,
    NaturalJoin,
    OldState,
    Row,
    SetExpression,
    evaluate,
    project,
    relation,
    select,
)
from tidings.errors import UnknownRelation

FACTS = Facts.after({"e": {(1, 2), (2, 3)}}, {"e": DeltaSet.of(plus={(3, 1)}, minus={(2, 3)})})
E = ("a", "b")


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (relation("e", *E), {(1, 2), (3, 1)}),
        (OldState("e", E), {(1, 2), (2, 3)}),
        (DeltaPlus("e", E), {(3, 1)}),
        (DeltaMinus("e", E), {(2, 3)}),
        (NaturalJoin(relation("e", "a", "b"), relation("e", "b", "c")), {(3, 1, 2)}),
        (NaturalJoin(relation("e", "a", "b"), relation("e", "c", "b")), {(1, 2, 1), (3, 1, 3)}),
        (NaturalJoin(relation("e", "a", "b"), OldState("e", ("b", "a"))), set()),
        (project(select(relation("e", *E), "a < b"), "b", "s = a + b"), {(2, 3)}),
    ],
)
def test_values(node: SetExpression, value: set[Row]) -> None:
    assert evaluate(node, FACTS) == value


def test_a_relation_without_a_delta_set_did_not_change() -> None:
    facts = Facts({"q": frozenset({(1,)})}, {})
    assert facts.old("q") == facts.new("q")
    assert not facts.delta("q")


def test_facts_between_two_states() -> None:
    facts = Facts.between({"q": {(1,), (2,)}}, {"q": {(2,), (3,)}})
    assert facts.old("q") == {(1,), (2,)}
    assert str(facts.delta("q")) == "⟨{⟨3⟩}, {⟨1⟩}⟩"


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(UnknownRelation):
        evaluate(relation("nowhere", "x"), FACTS)

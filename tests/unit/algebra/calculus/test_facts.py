"""Facts: states, rollback and the value of expressions."""

from __future__ import annotations

from typing import Any

import pytest

from tidings.algebra.calculus import (
    DeltaMinus,
    DeltaPlus,
    DeltaSet,
    Facts,
    NaturalJoin,
    OldState,
    Row,
    SetExpression,
    delta,
    evaluate,
    project,
    relation,
    select,
)
from tidings.errors import InexactDelta, InvalidExpression, UnknownRelation

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


@pytest.mark.parametrize(
    "change",
    [
        DeltaSet.of(plus={(1, 2)}),
        DeltaSet.of(minus={(9, 9)}),
        DeltaSet.of(plus={(1, 2)}, minus={(9, 9)}),
        DeltaSet.of(plus={(7,)}),
        DeltaSet.of(plus={(7, 7, 7)}, minus={(1, 2), (2, 3)}),
    ],
    ids=str,
)
def test_changes_that_do_not_fit_are_refused(change: DeltaSet) -> None:
    with pytest.raises(InexactDelta) as refused:
        Facts.after({"e": {(1, 2), (2, 3)}}, {"e": change})
    assert refused.value.parameters["relation"] == "e"


def test_changes_of_a_relation_without_a_state_are_refused() -> None:
    with pytest.raises(UnknownRelation):
        Facts.after({"e": {(1, 2)}}, {"f": DeltaSet.of(plus={(1, 2)})})


def test_states_of_several_widths_are_refused() -> None:
    with pytest.raises(InexactDelta):
        Facts({"e": frozenset({(1,), (1, 2)})}, {})


@pytest.mark.parametrize("leaf", [relation, lambda name, *a: OldState(name, a), lambda name, *a: DeltaPlus(name, a)])
@pytest.mark.parametrize("attributes", [("a",), ("a", "b", "c")])
def test_a_relation_has_as_many_attributes_as_its_rows_have_values(leaf: Any, attributes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidExpression):
        evaluate(leaf("e", *attributes), FACTS)
    with pytest.raises(InvalidExpression):
        delta(relation("e", *attributes), FACTS)


def test_a_relation_without_rows_has_any_attributes() -> None:
    assert evaluate(relation("q", "a", "b"), Facts({"q": frozenset()}, {})) == frozenset()

"""Propagation: exact for any expression and any network, and holding no more than it must."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.unit.algebra.calculus.generate import EXACT, expressions, facts
from tidings.algebra.calculus import (
    DeltaSet,
    Facts,
    NaturalJoin,
    SetExpression,
    SetUnion,
    Sign,
    delta,
    delta_union,
    evaluate,
    influents,
    levels,
    old,
    project,
    propagate,
    relation,
    select,
    show,
    split,
    strict,
)
from tidings.errors import InvalidExpression


def recomputed(node: SetExpression, facts: Facts) -> DeltaSet:
    return DeltaSet.between(evaluate(old(node), facts), evaluate(node, facts))


@settings(deadline=None, max_examples=400)
@given(expressions(), facts())
def test_strict_propagation_equals_recomputing(node: SetExpression, facts: Facts) -> None:
    expected = recomputed(node, facts)
    assert delta(node, facts) == expected, show(node)
    assert propagate({"flat": node}, facts).deltas["flat"] == expected, show(node)


@settings(deadline=None, max_examples=200)
@given(expressions(), facts())
def test_strict_differentials_join_to_the_change(node: SetExpression, facts: Facts) -> None:
    parts = []
    for influent in influents(node):
        gain, loss = (strict(node, influent, sign) for sign in Sign)
        assert gain is not None
        assert loss is not None
        parts.append(DeltaSet(evaluate(gain, facts), evaluate(loss, facts)))
    assert delta_union(*parts) == recomputed(node, facts), show(node)


@settings(deadline=None, max_examples=200)
@given(expressions(kinds=EXACT), facts())
def test_without_projections_nothing_needs_filtering(node: SetExpression, facts: Facts) -> None:
    assert delta(node, facts, strict=False) == recomputed(node, facts), show(node)


@settings(deadline=None, max_examples=100)
@given(expressions(), facts())
def test_nothing_is_held_in_the_end(node: SetExpression, facts: Facts) -> None:
    steps = propagate(split("p", node), facts).steps
    assert [s.level for s in steps] == sorted(s.level for s in steps)
    assert not steps[-1].unreleased


def test_nervous_delta_sets_spoil_the_rollback_above() -> None:
    """Q ⋈ π[x] E: a pair joins one that was there, so π claims 1 as new, and 1 is rolled out of the old state.

    At the same time 1 leaves Q.  The lost join finds no partner in the spoilt old state: the loss is missed.
    """
    node = NaturalJoin(relation("Q", "x"), project(relation("E", "x", "y"), "x"))
    facts = Facts.after({"Q": {(1,)}, "E": {(1, 1)}}, {"Q": DeltaSet.of(minus={(1,)}), "E": DeltaSet.of(plus={(1, 2)})})
    assert delta(node, facts) == DeltaSet.of(minus={(1,)}) == recomputed(node, facts)
    assert delta(node, facts, strict=False) == DeltaSet()
    assert propagate({"flat": node}, facts, strict=False).deltas["flat"] == DeltaSet.of(minus={(1,)})


def test_an_operand_that_occurs_twice_is_one_node() -> None:
    low = select(relation("Q", "x"), "x < 5")
    definitions = split("p", SetUnion(project(low, "x = x + 1"), low))
    assert [(n, show(b)) for n, b in definitions.items()] == [
        ("p.1", "σ[x < 5] Q"),
        ("p.2", "π[x = x + 1] p.1"),
        ("p", "p.2 ∪ p.1"),
    ]
    assert levels(definitions) == {"Q": 0, "p.1": 1, "p.2": 2, "p": 3}


def test_a_delta_set_is_held_until_its_last_reader_is_done() -> None:
    low = select(relation("Q", "x"), "x < 5")
    facts = Facts.after({"Q": set()}, {"Q": DeltaSet.of(plus={(1,)})})
    steps = propagate(split("p", SetUnion(project(low, "x = x + 1"), low)), facts).steps
    assert [(s.node, s.edges, set(s.unreleased)) for s in steps] == [
        ("p.1", ("Q",), {"p.1"}),
        ("p.2", ("p.1",), {"p.1", "p.2"}),
        ("p", ("p.1", "p.2"), set()),
    ]


def test_unchanged_influents_run_no_differentials() -> None:
    facts = Facts.after({"Q": {(1,)}, "R": {(1,)}}, {"R": DeltaSet()})
    result = propagate({"p": SetUnion(relation("Q", "x"), relation("R", "x"))}, facts)
    assert not result.deltas["p"]
    assert result.steps[0].edges == ()


def test_several_tops_share_what_is_below() -> None:
    shared = {"low": select(relation("Q", "x"), "x < 5")}
    tops = {"even": select(relation("low", "x"), "x % 2 == 0"), "odd": select(relation("low", "x"), "x % 2 == 1")}
    facts = Facts.after({"Q": {(9,)}}, {"Q": DeltaSet.of(plus={(1,), (2,), (7,)})})
    result = propagate({**tops, **shared}, facts)
    assert {n: str(d) for n, d in result.deltas.items()} == {"even": "⟨{⟨2⟩}, {}⟩", "odd": "⟨{⟨1⟩}, {}⟩"}
    assert [s.node for s in result.steps] == ["low", "even", "odd"]


def test_the_delta_of_a_relation_is_its_own() -> None:
    facts = Facts.after({"Q": set()}, {"Q": DeltaSet.of(plus={(1,)})})
    assert delta(relation("Q", "x"), facts) == facts.delta("Q")


def test_recursive_definitions_are_refused() -> None:
    with pytest.raises(InvalidExpression):
        levels({"p": SetUnion(relation("q", "x"), relation("p", "x"))})

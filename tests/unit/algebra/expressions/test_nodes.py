"""Expressions that cannot be built wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidings.algebra import RelationInstance, UserOperator, evaluate, relation, show
from tidings.algebra.expressions.nodes import stored_relations
from tidings.errors import DuplicateColumn, DuplicateTuple, InvalidExpression, InvalidOperator, UnknownColumn

EMP, DEPT = relation("emp", "name", "dept"), relation("dept", "dept", "floor")
FIRST = UserOperator("First", ("name",), lambda emp: emp)


@pytest.mark.parametrize(
    ("build", "condition"),
    [
        (lambda: EMP.select("salary > 1"), UnknownColumn),
        (lambda: EMP.project("nme"), UnknownColumn),
        (lambda: EMP.project("name", "name"), DuplicateColumn),
        (lambda: EMP.join(DEPT, on="salary = 1"), UnknownColumn),
        (lambda: EMP.union(DEPT), InvalidExpression),
        (lambda: EMP.difference(DEPT), InvalidExpression),
        (lambda: EMP.rename(name="dept"), DuplicateColumn),
        (lambda: EMP.rename(salary="pay"), UnknownColumn),
        (lambda: relation("emp"), InvalidExpression),
        (lambda: relation("emp", "name", "name"), DuplicateColumn),
        (lambda: UserOperator("First", ("name",), lambda emp: emp, key=("dept",)), InvalidOperator),
        (lambda: DEPT.apply(UserOperator("First", ("name",), lambda d: d, key=("name",))), InvalidOperator),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[[], object], condition: type[Exception]) -> None:
    with pytest.raises(condition):
        build()


def test_an_operator_that_gives_other_attributes_is_refused() -> None:
    emp = RelationInstance.of(EMP.attributes, (1, "Joe", "toys"))
    with pytest.raises(InvalidOperator):
        evaluate(EMP.apply(FIRST), lambda leaf: emp)


def test_relations_are_sets() -> None:
    twice = RelationInstance.of(EMP.attributes, (1, "Joe", "toys"), (2, "Joe", "toys"))
    with pytest.raises(DuplicateTuple) as caught:
        evaluate(EMP, lambda leaf: twice)
    assert {caught.value.parameters["first"], caught.value.parameters["second"]} == {"1", "2"}


def test_text_and_leaves() -> None:
    expression = EMP.join(DEPT, on="floor > 1").select("name <> 'Joe'").project("name").rename(name="who")
    assert show(expression) == "ρ[name as who](Π[name](σ[name <> 'Joe']((emp ⋈[floor > 1] dept))))"
    assert stored_relations(expression.union(expression)) == (EMP, DEPT)
    assert show(EMP.difference(EMP).union(EMP)) == "((emp - emp) ∪ emp)"


def test_tids_of_derived_relations() -> None:
    emp = RelationInstance.of(EMP.attributes, (1, "Joe", "toys"), (2, "Ann", "books"))
    dept = RelationInstance.of(DEPT.attributes, (7, "toys", 1))
    states = {"emp": emp, "dept": dept}
    assert list(evaluate(EMP.join(DEPT), lambda leaf: states[leaf.name]).tuples) == [(1, 7)]
    assert list(evaluate(EMP.project("dept"), lambda leaf: states[leaf.name]).tuples) == [("toys",), ("books",)]
    assert list(evaluate(EMP.difference(EMP.select("name = 'Joe'")), lambda leaf: emp).tuples) == [(2,)]
    assert set(evaluate(EMP.union(EMP.select("name = 'Joe'")), lambda leaf: emp).tuples) == {(1, 1), (2,)}
    swapped = EMP.rename(name="dept", dept="name")
    assert set(evaluate(EMP.union(swapped), lambda leaf: emp).tuples) == {(1,), (2,), (1, "′"), (2, "′")}

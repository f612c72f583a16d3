"""Which plans are keyed operators, and what lifting a projection of one keeps."""

from __future__ import annotations

import pytest

from tests.unit.schema import plan
from tidings.delta.differentiate.lift import keyed_operator, lift
from tidings.ir.relation import Aggregate, OuterJoin, Project, Scan, SemiJoin, SetOperation, Version, Window

U = "scan u u [a int, c bigint]"
W = "scan w w [c bigint, e string]"
OPERATORS = {
    Aggregate: f"aggregate g [a int := u.a] []\n  {U}",
    Window: f"window n [r int := RANK() OVER (PARTITION BY u.a ORDER BY u.c)]\n  {U}",
    OuterJoin: f"outer_join [u.c = w.c]\n  {U}\n  {W}",
    SemiJoin: f"anti_join [u.c = w.c]\n  {U}\n  {W}",
    SetOperation: f"except n [a int, c bigint]\n  {U}\n  scan u x [a int, c bigint]",
}


@pytest.mark.parametrize("kind", OPERATORS)
def test_keyed_operators(kind: type) -> None:
    assert isinstance(keyed_operator(plan(OPERATORS[kind])), kind)


def test_a_projection_of_one() -> None:
    found = plan("project p [x int := u.a]\n" + "\n".join("  " + line for line in OPERATORS[OuterJoin].splitlines()))
    assert isinstance(keyed_operator(found), OuterJoin)


@pytest.mark.parametrize(
    "text", [U, f"filter [u.a = 1]\n  {U}", f"project p [x int := u.a]\n  {U}", f"join []\n  {U}\n  {W}"]
)
def test_linear_operators_are_not_keyed(text: str) -> None:
    assert keyed_operator(plan(text)) is None


@pytest.mark.parametrize("kind", OPERATORS)
def test_answers_carry_their_version(kind: type) -> None:
    operator = lift(plan(OPERATORS[kind]))
    assert {i.scan.version for i in operator.inputs} == {Version.CURRENT}
    assert all(len(i.key) == len(operator.key_types) for i in operator.inputs)


def test_lifting_a_projection_keeps_its_columns_and_adds_the_version() -> None:
    text = "project p [x int := u.a]\n" + "\n".join("  " + line for line in OPERATORS[SemiJoin].splitlines())
    operator = lift(plan(text))
    assert [c.name for c in operator.columns] == ["x"]
    assert operator.alias == "p"
    more = " __v bigint, __n bigint]"
    inputs = [plan(t.replace("]", "," + more)) for t in (U, W)]
    versions = Scan("versions", "v", ())
    answers = operator.apply(inputs, versions)
    assert isinstance(answers, Project)
    assert [f.name for f in answers.fields] == ["x", "__v", "__n"]

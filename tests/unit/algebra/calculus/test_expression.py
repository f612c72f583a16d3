"""Expressions: their attributes, and what cannot be built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidings.algebra.calculus import (
    NaturalJoin,
    SetDifference,
    SetExpression,
    SetIntersection,
    SetProduct,
    SetUnion,
    join,
    project,
    relation,
    select,
)
from tidings.errors import DuplicateColumn, InvalidExpression, TidingsError, UnknownColumn

Q, R, S = relation("q", "x", "y"), relation("r", "y", "z"), relation("s", "u")


@pytest.mark.parametrize(
    ("node", "attributes"),
    [
        (Q, "x y"),
        (select(Q, "x > 1"), "x y"),
        (project(Q, "y", "sum = x + y"), "y sum"),
        (project(Q, "y = x"), "y"),
        (SetUnion(Q, Q), "x y"),
        (SetProduct(Q, S), "x y u"),
        (NaturalJoin(Q, R), "x y z"),
        (join(Q, R, relation("t", "z", "x")), "x y z"),
    ],
)
def test_attributes(node: SetExpression, attributes: str) -> None:
    assert node.attributes == tuple(attributes.split())


@pytest.mark.parametrize(
    ("build", "condition"),
    [
        (lambda: relation("q", "x", "x"), DuplicateColumn),
        (lambda: select(Q, "z > 1"), UnknownColumn),
        (lambda: project(Q, "z"), UnknownColumn),
        (lambda: project(Q, "x", "x = y"), DuplicateColumn),
        (lambda: SetUnion(Q, R), InvalidExpression),
        (lambda: SetDifference(Q, S), InvalidExpression),
        (lambda: SetIntersection(Q, relation("q", "y", "x")), InvalidExpression),
        (lambda: SetProduct(Q, R), DuplicateColumn),
        (lambda: NaturalJoin(Q, S), InvalidExpression),
    ],
)
def test_refusals(build: Callable[[], SetExpression], condition: type[TidingsError]) -> None:
    with pytest.raises(condition):
        build()


def test_equal_expressions_are_one() -> None:
    assert len({NaturalJoin(Q, R), join(Q, R), NaturalJoin(R, Q)}) == 2

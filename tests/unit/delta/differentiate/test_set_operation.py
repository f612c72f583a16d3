"""Differences and intersections are keyed by the whole row."""

from __future__ import annotations

import pytest

from tests.unit.schema import plan
from tidings.delta.differentiate.set_operation import lift
from tidings.ir.expression import show
from tidings.ir.relation import SetOperation


def operation(head: str) -> SetOperation:
    found = plan(f"""
        {head} n [x int, y string]
          scan t t [a int, b string]
          scan s s [c int, e string]
        """)
    assert isinstance(found, SetOperation)
    return found


@pytest.mark.parametrize("head", ["except", "except all", "intersect", "intersect all"])
def test_the_key_is_the_whole_row(head: str) -> None:
    found = lift(operation(head))
    assert [[show(e) for e in i.key] for i in found.inputs] == [["t.a", "t.b"], ["s.c", "s.e"]]
    assert found.key_types == ("int", "string")
    assert [c.name for c in found.columns] == ["x", "y"]


@pytest.mark.parametrize("head", ["except", "except all", "intersect", "intersect all"])
def test_the_version_is_part_of_the_row(head: str) -> None:
    node = operation(head)
    sides = [
        plan("scan t t [a int, b string, __v bigint, __n bigint]"),
        plan("scan s s [c int, e string, __v bigint, __n bigint]"),
    ]
    applied = lift(node).apply(sides, sides[0])
    assert isinstance(applied, SetOperation)
    assert (applied.kind, applied.all) == (node.kind, node.all)
    assert [f.name for f in applied.fields] == ["x", "y", "__v", "__n"]
    assert [f.name for f in applied.right.fields] == ["x", "y", "__v", "__n"]

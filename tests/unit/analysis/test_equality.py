"""Which expressions a conjunction makes equal."""

from __future__ import annotations

import pytest

from tidings.analysis.equality import equality_classes
from tidings.ir.expression import read, show

TYPES = {("a", "x"): "int", ("b", "x"): "bigint", ("c", "x"): "int", ("c", "y"): "string", ("d", "y"): "string"}


def classes(*conditions: str) -> list[tuple[set[str], bool]]:
    found = equality_classes(map(read, conditions), TYPES)
    return [({show(m) for m in c.members}, c.null_safe) for c in found]


def test_equality_is_transitive() -> None:
    assert classes("a.x = b.x", "b.x = c.x") == [({"a.x", "b.x", "c.x"}, False)]
    assert classes("a.x = b.x", "c.y = d.y", "c.x = a.x") == [
        ({"c.y", "d.y"}, False),
        ({"a.x", "b.x", "c.x"}, False),
    ]


def test_one_condition_can_join_two_classes() -> None:
    types = {**TYPES, ("d", "x"): "int"}
    found = equality_classes(map(read, ("a.x = b.x", "c.x = d.x", "b.x = c.x")), types)
    assert [len(c.members) for c in found] == [4]


def test_null_safe_spreads_through_the_class() -> None:
    assert classes("a.x <=> b.x") == [({"a.x", "b.x"}, True)]
    assert classes("a.x = b.x", "b.x <=> c.x") == [({"a.x", "b.x", "c.x"}, True)]


@pytest.mark.parametrize(
    "condition",
    ["a.x < b.x", "a.x = 1", "1 = 1", "a.x = c.y", "a.x = b.x OR a.x = 1", "NOT a.x = b.x", "a.x + 1 = b.x"],
)
def test_no_class(condition: str) -> None:
    assert classes(condition) == []

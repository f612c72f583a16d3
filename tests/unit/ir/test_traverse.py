"""Traversal sees every node once, parents first, and keeps what it does not change."""

from __future__ import annotations

import pytest

from tests.unit.ir.test_text import KINDS, T, U
from tidings.ir.expression import read
from tidings.ir.relation import Filter, Join, Relation, Scan
from tidings.ir.text import head
from tidings.ir.traverse import children, rebuild, walk, with_children

PLAN = Filter(Join((T, Filter(U, (read("u.a > 1"),))), (read("t.a = u.a"),)), (read("t.b = 'x'"),))


@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_is_the_same_object(kind: str) -> None:
    node = KINDS[kind]
    assert rebuild(node, lambda n: n) is node
    assert with_children(node, children(node)) is node


def test_walk_is_parents_first() -> None:
    assert [head(n).split()[0] for n in walk(PLAN)] == ["filter", "join", "scan", "filter", "scan"]


def test_rebuild_changes_only_the_path_to_the_change() -> None:
    def rule(node: Relation) -> Relation:
        return Scan("other", node.alias, node.columns) if isinstance(node, Scan) and node.relation == "u" else node

    changed = rebuild(PLAN, rule)
    assert [n.relation for n in walk(changed) if isinstance(n, Scan)] == ["t", "other"]
    assert isinstance(changed, Filter)
    assert isinstance(changed.input, Join)
    assert changed.input.inputs[0] is T


def test_rebuild_is_inputs_first() -> None:
    seen: list[str] = []

    def note(node: Relation) -> Relation:
        seen.append(head(node).split()[0])
        return node

    rebuild(PLAN, note)
    assert seen == ["scan", "scan", "filter", "join", "filter"]


def test_with_children_needs_as_many_inputs() -> None:
    with pytest.raises(ValueError, match="zip"):
        with_children(PLAN, ())

"""A condition as a set of rows, or of one row per key."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.ir.relation import Aggregate, Project, Window
from tidings.ir.traverse import walk
from tidings.rewrite.instances import instances

KEYS = {"t": (), "u": ("a",), "w": ()}


def test_rows_are_told_apart_by_all_columns() -> None:
    plan = instances(bound("SELECT c, e FROM w"), (), KEYS, {})
    assert isinstance(plan, Aggregate)
    assert [f.name for f in plan.fields] == ["c", "e"]
    assert not plan.aggregates


def test_one_row_per_key() -> None:
    plan = instances(bound("SELECT c, e FROM w"), ("c",), KEYS, {})
    assert isinstance(plan, Project)
    assert [f.name for f in plan.fields] == ["c", "e"]
    assert any(isinstance(node, Window) for node in walk(plan))


def test_a_key_of_all_columns_is_the_whole_row() -> None:
    query = bound("SELECT c, e FROM w")
    assert instances(query, ("c", "e"), KEYS, {}) == instances(query, (), KEYS, {})


@pytest.mark.parametrize("key", [(), ("a",), ("a", "c")])
def test_a_query_without_duplicates_stays_as_it_is(key: tuple[str, ...]) -> None:
    query = bound("SELECT a, c FROM u WHERE c > 1")
    assert instances(query, key, KEYS, {}) is query

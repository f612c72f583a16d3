"""Steps over looked-up rows."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound
from tidings.delta.lookups import Fanouts, Lookup, looked_up, lookup_plan, unknown_fanouts
from tidings.delta.plan import compile_program
from tidings.ir.expression import show
from tidings.ir.relation import Filter, Restrict, Scan, Version
from tidings.ir.traverse import walk


def lookups(query: str, changed: str, fanouts: Fanouts = unknown_fanouts) -> list[Lookup]:
    """The lookups of a query's steps, which then read nothing else of any state."""
    found: list[Lookup] = []
    for step in compile_program("v", bound(query), frozenset({changed}), {}).steps:
        made = looked_up(step, fanouts)
        names = {one.name for one in made.lookups}
        scans = [n for n in walk(made.step.plan) if isinstance(n, Scan)]
        assert all(n.version is Version.DELTA or n.relation in names for n in scans)
        assert not any(isinstance(n, Restrict) for n in walk(made.step.plan))
        found += made.lookups
    return found


def test_by_a_column_of_the_delta() -> None:
    (found,) = lookups("SELECT t.a, u.c FROM t JOIN u ON u.a = t.a", "t")
    assert (found.relation, found.column and found.column.name, found.keys) == ("u", "a", (("t", "a"),))
    assert not found.nulls


@pytest.mark.parametrize("fewest", ["a", "c"])
def test_by_the_column_with_the_fewest_rows_per_key(fewest: str) -> None:
    def fanouts(relation: str, column: str) -> float | None:
        return 4.0 if (relation, column) == ("u", fewest) else 80.0

    found = lookups("SELECT x.d FROM u JOIN u AS x ON x.a = u.a AND x.c = u.c", "u", fanouts)
    assert [one.column and one.column.name for one in found] == [fewest, fewest]


def test_by_what_was_looked_up_before() -> None:
    first, second = lookups("SELECT t.a, x.a AS b FROM t JOIN u ON u.a = t.a JOIN u AS x ON x.c = u.c", "t")
    assert first.keys == (("t", "a"),)
    assert second.keys == ((first.name, "c"),)
    assert second.plan is not None
    assert {n.relation for n in walk(second.plan) if isinstance(n, Scan)} == {first.name}


def test_groups_are_found_by_their_keys_and_by_null() -> None:
    (found,) = lookups("SELECT a, COUNT(*) AS n FROM t GROUP BY a", "t")
    assert (found.version, found.nulls, found.keys) == (Version.OLD, True, (("t", "a"),))


@pytest.mark.parametrize("query", ["SELECT COUNT(*) AS n FROM t", "SELECT t.a FROM t JOIN u ON t.a < u.a"])
def test_without_a_key_all_rows_are_wanted(query: str) -> None:
    assert all(found.column is None for found in lookups(query, "t"))


def test_only_the_columns_that_are_read() -> None:
    (found,) = lookups("SELECT t.a FROM t JOIN u ON u.a = t.a", "t")
    assert [c.name for c in found.columns] == ["a"]


def test_equal_lookups_are_one() -> None:
    found = lookups("SELECT t.a FROM t JOIN u ON u.a = t.a JOIN u AS x ON x.a = t.a", "t")
    assert len(found) == 1


def test_what_only_conditions_restrict() -> None:
    (found,) = lookups("SELECT t.a FROM t JOIN u ON t.a < u.a WHERE u.c > 3", "t")
    assert found.column is None
    assert not found.is_whole
    assert [show(c) for c in found.conditions] == ["u.c > 3"]
    plan = lookup_plan(found)
    assert isinstance(plan, Filter)
    assert plan.conditions == found.conditions


def test_the_other_side_is_looked_up_by_the_same_keys() -> None:
    found = lookups("SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", "u")
    first, second = (next(one for one in found if one.relation == r) for r in ("t", "u"))
    assert first.keys == second.keys == (("v#1", "__d0"),)

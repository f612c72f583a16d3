"""Plans are cut at their keyed operators: every part is linear or one keyed operator over scans."""

from __future__ import annotations

import pytest

from tests.unit.rewrite.test_isolate_keyed import QUERIES
from tests.unit.schema import normal, plan
from tidings.delta.differentiate.lift import keyed_operator
from tidings.delta.split_parts import split_parts
from tidings.ir.relation import Aggregate, OuterJoin, Relation, Scan, SemiJoin, SetOperation, Window
from tidings.ir.traverse import children, walk

KEYED = Aggregate | Window | OuterJoin | SemiJoin | SetOperation


def shape(query: str) -> tuple[Relation, dict[str, Relation]]:
    return split_parts("v", normal(query))


@pytest.mark.parametrize("query", QUERIES)
def test_every_part_is_linear_or_one_keyed_operator_over_scans(query: str) -> None:
    whole, parts = shape(query)
    for node in (whole, *parts.values()):
        operator = keyed_operator(node)
        if operator is None:
            assert not any(isinstance(n, KEYED) for n in walk(node))
        else:
            assert all(isinstance(c, Scan) for c in children(operator))


@pytest.mark.parametrize("query", QUERIES)
def test_lower_parts_come_first(query: str) -> None:
    whole, parts = shape(query)
    known: set[str] = set()
    for name, node in (*parts.items(), ("v", whole)):
        used = {n.relation for n in walk(node) if isinstance(n, Scan) and "#" in n.relation}
        assert used <= known
        known.add(name)


@pytest.mark.parametrize("query", QUERIES)
def test_a_part_is_scanned_with_all_its_columns(query: str) -> None:
    whole, parts = shape(query)
    for node in (whole, *parts.values()):
        for scan in (n for n in walk(node) if isinstance(n, Scan) and n.relation in parts):
            fields = parts[scan.relation].fields
            assert [(c.name, c.type) for c in scan.columns] == [(f.name, f.type) for f in fields]


def test_a_linear_plan_is_whole() -> None:
    before = normal("SELECT u.a FROM u JOIN w ON u.c = w.c")
    whole, parts = split_parts("v", before)
    assert whole is before
    assert parts == {}


def test_a_keyed_operator_at_the_top_is_no_part_of_its_own() -> None:
    whole, parts = shape("SELECT a, max(c) AS m FROM u GROUP BY a")
    assert parts == {}
    assert keyed_operator(whole) is not None


def test_what_stands_below_and_above_becomes_parts() -> None:
    whole, parts = shape("SELECT a, max(c) AS m FROM u WHERE c > 1 GROUP BY a HAVING max(c) > 2")
    assert list(parts) == ["v#1", "v#2"]
    assert whole == plan("""
        project result [a int := groups.key1, m bigint := groups.agg1]
          filter [groups.agg1 > 2]
            scan `v#2` groups [key1 int, agg1 bigint]
        """)
    assert parts["v#2"] == plan("""
        aggregate groups [key1 int := u_rows.a] [agg1 bigint := MAX(u_rows.c)]
          scan `v#1` u_rows [a int, c bigint]
        """)


def test_parts_that_differ_in_aliases_alone_are_one() -> None:
    grouped = "(SELECT a, max(c) AS m FROM u WHERE c > {} GROUP BY a) AS {}"
    same = f"SELECT x.m FROM {grouped.format(1, 'x')} JOIN {grouped.format(1, 'y')} ON x.a = y.m"
    whole, parts = shape(same)
    assert list(parts) == ["v#1", "v#2"]
    assert [(n.relation, n.alias) for n in walk(whole) if isinstance(n, Scan)] == [
        ("v#2", "groups"),
        ("v#2", "groups_2"),
    ]
    _, parts = shape(f"SELECT x.m FROM {grouped.format(1, 'x')} JOIN {grouped.format(2, 'y')} ON x.a = y.m")
    assert len(parts) == 4


def test_a_shared_view_below_is_not_cut() -> None:
    before = plan("""
        aggregate g [k int := x.k] []
          scan other x [k int]
        """)
    assert split_parts("v", before) == (before, {})

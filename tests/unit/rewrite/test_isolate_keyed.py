"""Every keyed operator stands alone: one relation under one alias above it and below it."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, normal, plan
from tidings.ir.relation import (
    Aggregate,
    OuterJoin,
    Project,
    Relation,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Values,
    Window,
)
from tidings.ir.traverse import children, walk
from tidings.rewrite.isolate_keyed import isolate_keyed

KEYED = Aggregate | Window | OuterJoin | SemiJoin | SetOperation
QUERIES = [
    "SELECT a, max(d) AS m FROM u WHERE c > 1 GROUP BY a",
    "SELECT count(*) AS n FROM u JOIN w ON u.c = w.c",
    "SELECT DISTINCT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c",
    "SELECT u.a FROM u LEFT JOIN w x ON u.c = x.c LEFT JOIN w y ON x.c = y.c WHERE y.e IS NULL",
    "SELECT u.a, w.e FROM u FULL JOIN w USING (c)",
    "SELECT a, rank() OVER (PARTITION BY a ORDER BY c) AS r FROM u QUALIFY r = 1",
    "SELECT a FROM u ORDER BY c LIMIT 2",
    "SELECT a FROM u WHERE c NOT IN (SELECT c FROM w)",
    "SELECT c FROM u EXCEPT SELECT c FROM w",
    "SELECT c FROM u LEFT ANTI JOIN w USING (c) UNION ALL SELECT x.c FROM w x LEFT JOIN u ON x.c = u.c",
    "SELECT a, (SELECT count(*) FROM w WHERE w.c > u.c) AS n FROM u",
]


def one_alias(node: Relation) -> bool:
    return len({f.alias for f in node.fields}) == 1


@pytest.mark.parametrize("query", QUERIES)
def test_inputs_and_result_are_single_relations(query: str) -> None:
    found = normal(query)
    keyed = [n for n in walk(found) if isinstance(n, KEYED)]
    assert keyed
    for operator in keyed:
        for child in children(operator):
            assert one_alias(child)
            assert isinstance(child, Scan | Values | Project | Union | Aggregate | SetOperation)
    for node in walk(found):
        for child in children(node):
            if isinstance(child, Window | OuterJoin | SemiJoin):
                assert isinstance(node, Project)


@pytest.mark.parametrize("query", QUERIES)
def test_columns_stay(query: str) -> None:
    before = bound(query)
    assert isolate_keyed(before).fields == before.fields


@pytest.mark.parametrize("query", QUERIES)
def test_twice_changes_no_answer_twice(query: str) -> None:
    once = isolate_keyed(bound(query))
    assert [f.name for f in isolate_keyed(once).fields] == [f.name for f in once.fields]


def test_an_outer_join_gets_one_alias() -> None:
    assert isolate_keyed(bound("SELECT y.c, x.e FROM w y LEFT JOIN w x ON y.c = x.c WHERE x.e IS NULL")) == plan("""
        project result [c bigint := y_rows.c, e string := y_rows.e_2]
          filter [y_rows.e_2 IS NULL]
            project y_rows [c bigint := y.c, e string := y.e, c_2 bigint := x.c, e_2 string := x.e]
              outer_join [y.c = x.c]
                scan w y [c bigint, e string]
                scan w x [c bigint, e string]
        """)


def test_branches_keep_the_order_of_their_columns() -> None:
    """A right join has its sides the other way round, and columns of a union correspond by position."""
    query = "SELECT * FROM (SELECT u.a, w.e FROM u RIGHT JOIN w ON u.c = w.c) AS q UNION ALL SELECT a, b FROM t"
    found = isolate_keyed(bound(query))
    assert isinstance(found, Union)
    assert [[f.type for f in b.fields] for b in found.inputs] == [["int", "string"], ["int", "string"]]


def test_same_object_without_keyed_operators() -> None:
    for query in ("SELECT a FROM u", "SELECT u.a FROM u JOIN w ON u.c = w.c", "SELECT a FROM u UNION ALL SELECT 1"):
        before = bound(query)
        assert isolate_keyed(before) is before


def test_an_aggregate_of_a_table_needs_no_projection() -> None:
    found = isolate_keyed(bound("SELECT a, max(c) AS m FROM u GROUP BY a"))
    assert found == bound("SELECT a, max(c) AS m FROM u GROUP BY a")

"""``π_a(R(a, b)) = π_a(R(a))``."""

from __future__ import annotations

from tests.unit.schema import bound, plan
from tidings.ir.relation import Scan, Union
from tidings.ir.traverse import walk
from tidings.rewrite.prune_columns import prune_columns


def test_scans_keep_what_is_used() -> None:
    assert prune_columns(bound("SELECT t.b FROM t JOIN u ON t.a = u.a WHERE u.c > 1")) == plan("""
        project result [b string := t.b]
          join [t.a = u.a, u.c > 1]
            scan t t [a int, b string]
            scan u u [a int, c bigint]
        """)


def test_a_field_keeps_its_struct() -> None:
    found = prune_columns(bound("SELECT s.x FROM t"))
    (scan,) = [n for n in walk(found) if isinstance(n, Scan)]
    assert [c.name for c in scan.columns] == ["s"]


def test_union_branches_lose_the_same_positions() -> None:
    query = "SELECT q.y FROM (SELECT a AS x, c AS y FROM u UNION ALL SELECT 1, c FROM w) AS q"
    found = prune_columns(bound(query))
    (union,) = [n for n in walk(found) if isinstance(n, Union)]
    assert [c.name for c in union.columns] == ["y"]
    assert [[f.name for f in b.fields] for b in union.inputs] in ([["y"], ["y"]], [["y"], ["c"]])


def test_rows_stay_where_no_column_is_used() -> None:
    found = prune_columns(bound("SELECT 1 AS one FROM u"))
    (scan,) = [n for n in walk(found) if isinstance(n, Scan)]
    assert scan.columns == ()


def test_columns_of_the_plan_stay() -> None:
    for query in ("SELECT * FROM t", "SELECT 1 AS one FROM u", "SELECT a, c FROM u UNION ALL SELECT a, a FROM t"):
        before = bound(query)
        assert prune_columns(before).fields == before.fields


def test_same_object_when_all_is_used() -> None:
    for query in (
        "SELECT * FROM u WHERE a = 1",
        "SELECT * FROM u JOIN w USING (c)",
        "SELECT * FROM u UNION ALL SELECT * FROM u",
    ):
        once = prune_columns(bound(query))
        assert prune_columns(once) is once

"""``π_a(R(a, b)) = π_a(R(a))``."""

from __future__ import annotations

from tests.unit.schema import bound, plan
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Scan, SetOperation, Union, Window
from tidings.ir.traverse import walk
from tidings.rewrite.prune_columns import prune_columns


def test_scans_keep_what_is_used() -> None:
    assert prune_columns(bound("SELECT t.b FROM t JOIN u ON t.a = u.a WHERE u.c > 1")) == plan("""
        project result [b string := t.b]
          filter [u.c > 1]
            join [t.a = u.a]
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
    assert [c.name for c in scan.columns] == ["a"]


def test_keys_make_groups_and_stay() -> None:
    """``SELECT m`` over groups by ``a`` still has a row per ``a``; an aggregate nobody asks for goes."""
    query = "SELECT q.m FROM (SELECT a, max(c) AS m, min(d) AS l FROM u GROUP BY a) AS q"
    (groups,) = [n for n in walk(prune_columns(bound(query))) if isinstance(n, Aggregate)]
    assert ([show(i.expression) for i in groups.keys], [show(i.expression) for i in groups.aggregates]) == (
        ["u.a"],
        ["MAX(u.c)"],
    )


def test_a_total_keeps_one_aggregate() -> None:
    found = prune_columns(bound("SELECT 1 AS one FROM (SELECT max(c) AS m, min(d) AS l FROM u) AS q"))
    (total,) = [n for n in walk(found) if isinstance(n, Aggregate)]
    assert len(total.aggregates) == 1


def test_a_window_nobody_asks_for_goes() -> None:
    found = prune_columns(bound("SELECT q.a FROM (SELECT a, rank() OVER (ORDER BY c) AS r FROM u) AS q"))
    assert not any(isinstance(n, Window) for n in walk(found))


def test_set_operations_compare_whole_rows() -> None:
    """Bags of ``a`` alone would differ where bags of ``(a, c)`` do not."""
    query = "SELECT q.a FROM (SELECT a, c FROM u EXCEPT SELECT a, a FROM t) AS q"
    (difference,) = [n for n in walk(prune_columns(bound(query))) if isinstance(n, SetOperation)]
    assert [c.name for c in difference.columns] == ["a", "c"]


def test_conditions_of_joins_keep_their_columns() -> None:
    for kind in ("LEFT", "LEFT SEMI", "LEFT ANTI"):
        found = prune_columns(bound(f"SELECT u.d FROM u {kind} JOIN w ON u.c = w.c"))
        assert [[c.name for c in n.columns] for n in walk(found) if isinstance(n, Scan)] == [["c", "d"], ["c"]]


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

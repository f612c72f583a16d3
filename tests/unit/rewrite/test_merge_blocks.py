"""``π(σ(π(A) ⋈ π(B ⋈ C))) = π(σ(A ⋈ B ⋈ C))``, and where it is withheld."""

from __future__ import annotations

from tests.unit.schema import bound, plan
from tidings.ir.expression import show
from tidings.ir.relation import Filter, Join, Project, Relation
from tidings.ir.traverse import walk
from tidings.rewrite.merge_blocks import LARGEST, merge_blocks
from tidings.rewrite.prune_columns import prune_columns


def merged(query: str) -> Relation:
    return prune_columns(merge_blocks(bound(query)))


def blocks(node: Relation) -> int:
    return sum(isinstance(n, Project) for n in walk(node))


def test_nested_blocks_become_one_join() -> None:
    query = """
        SELECT q.n + 1 AS m FROM
          (SELECT t.a * 2 AS n, t.a FROM t JOIN u ON t.a = u.a) AS q JOIN (SELECT c, e FROM w WHERE e = 'x') AS r
          ON q.a = r.c WHERE q.n > 3"""
    assert merged(query) == plan("""
        project result [m int := (t.a * 2) + 1]
          join [t.a = u.a, w.e = 'x', t.a = w.c, (t.a * 2) > 3]
            scan t t [a int]
            scan u u [a int]
            scan w w [c bigint, e string]
        """)


def test_inner_conditions_stay_before_outer_ones() -> None:
    """A guard such as ``a <> 0`` protects the division that follows it."""
    found = merged("SELECT n FROM (SELECT 1 / a AS n FROM u WHERE a <> 0) AS q WHERE n > 0.1")
    assert isinstance(found, Project)
    assert isinstance(found.input, Filter)
    assert [show(c) for c in found.input.conditions] == ["u.a <> 0", "(1 / u.a) > 0.1"]


def test_filters_over_filters_become_one() -> None:
    found = merged("SELECT a FROM (SELECT a, c FROM (SELECT * FROM u WHERE a = 1) AS p WHERE c = 2) AS q WHERE a = 3")
    assert sum(isinstance(n, Filter) for n in walk(found)) == 1
    assert blocks(found) == 1


def test_withheld_for_large_expressions() -> None:
    small = " + ".join(["a"] * 5)
    large = " + ".join(["a"] * LARGEST)
    assert blocks(merged(f"SELECT n FROM (SELECT {small} AS n FROM u) AS q WHERE n > 0")) == 1
    assert blocks(merged(f"SELECT n FROM (SELECT {large} AS n FROM u) AS q WHERE n > 0")) == 2


def test_doubling_expressions_stay_small() -> None:
    query = "SELECT a AS n FROM u"
    for level in range(30):
        query = f"SELECT n + n AS n FROM ({query}) AS q{level}"
    found = merged(query)
    assert all(
        sum(1 for _ in i.expression.walk()) < 1000 for n in walk(found) if isinstance(n, Project) for i in n.items
    )


def test_withheld_for_constant_texts() -> None:
    """``a = s`` with ``'1' AS s`` compares texts with numbers; ``a = '1'`` casts the literal."""
    assert blocks(merged("SELECT q.a FROM (SELECT a, '1' AS s FROM u) AS q WHERE q.a = q.s")) == 2
    assert blocks(merged("SELECT q.a FROM (SELECT a, 1 AS s FROM u) AS q WHERE q.a = q.s")) == 1


def test_other_constants_keep_their_type() -> None:
    """In ``d + 1`` Spark reads the literal as decimal(1,0), in ``d + x`` with ``1 AS x`` as decimal(10,0)."""
    found = merged("SELECT d + x AS y FROM (SELECT d, 1 AS x FROM u) AS q")
    assert isinstance(found, Project)
    assert [show(i.expression) for i in found.items] == ["u.d + CAST(1 AS INT)"]


def test_unions_are_not_crossed() -> None:
    found = merged("SELECT q.a FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS q JOIN w ON q.a = w.c")
    joins = [n for n in walk(found) if isinstance(n, Join)]
    assert [len(j.inputs) for j in joins] == [2]


def test_branches_of_a_union_are_merged() -> None:
    found = merged("SELECT a FROM (SELECT a FROM t) AS q UNION ALL SELECT a FROM u")
    assert blocks(found) == 2


def test_same_object_when_there_is_nothing_to_merge() -> None:
    for query in (
        "SELECT a FROM t WHERE a = 1",
        "SELECT t.a FROM t JOIN u ON t.a = u.a",
        "SELECT a FROM t UNION ALL SELECT a FROM u",
    ):
        once = merge_blocks(bound(query))
        assert merge_blocks(once) is once


def test_columns_stay() -> None:
    for query in ("SELECT * FROM (SELECT a + 1 AS n FROM u) AS q", "SELECT n FROM (SELECT '1' AS n) AS q"):
        plan_ = bound(query)
        assert merge_blocks(plan_).fields == plan_.fields

"""From queries to plans: what each construct means, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, plan, types, view_plans
from tidings.errors import (
    DuplicateAlias,
    DuplicateColumn,
    InvalidExpression,
    InvalidSyntax,
    NonDeterministic,
    ReservedName,
    UnknownColumn,
    UnknownRelation,
    UnsupportedConstruct,
    UnsupportedType,
)
from tidings.ir.relation import Filter, Join, Project, Scan, Union, Values
from tidings.ir.traverse import walk


def relations(query: str) -> list[str]:
    return [n.relation for n in walk(bound(query)) if isinstance(n, Scan)]


def test_select_is_project_over_filter_over_join() -> None:
    assert bound("SELECT t.a + 1 AS n FROM t JOIN u ON t.a = u.a WHERE u.c > 2 AND t.b = 'x'") == plan("""
        project result [n int := t.a + 1]
          filter [u.c > 2, t.b = 'x']
            join [t.a = u.a]
              scan t t [a int, b string, s "struct<x:int,y:struct<z:string>>", arr "array<struct<x:int>>"]
              scan u u [a int, c bigint, d decimal(10,2)]
        """)


def test_comma_and_cross_join_are_products() -> None:
    assert bound("SELECT u.d FROM u, w") == bound("SELECT u.d FROM u CROSS JOIN w")


def test_using_is_an_equality() -> None:
    using = bound("SELECT t.b FROM t JOIN u USING (a)")
    assert using == bound("SELECT t.b FROM t JOIN u ON t.a = u.a")
    assert using == bound("SELECT t.b FROM t NATURAL JOIN u")


def test_self_join_keeps_its_aliases_apart() -> None:
    found = bound("SELECT x.a, y.a AS other FROM t x JOIN t y ON x.a = y.a")
    assert [n.alias for n in walk(found) if isinstance(n, Scan)] == ["x", "y"]


def test_equal_aliases_in_different_blocks() -> None:
    found = bound("SELECT x.a FROM (SELECT x.a FROM t x) x JOIN u ON x.a = u.a")
    aliases = [f.alias for n in walk(found) if isinstance(n, Scan | Project) for f in n.fields[:1]]
    assert len(aliases) == len({a.lower() for a in aliases}) == 4


def test_select_without_from() -> None:
    assert bound("SELECT 1 AS one, 'x' AS x") == plan("""
        project result [one int := 1, x string := 'x']
          values one [one int] [(1)]
        """)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM u", ["a", "c", "d"]),
        ("SELECT u.*, w.e FROM u, w", ["a", "c", "d", "e"]),
        ("SELECT * EXCEPT (c) FROM u", ["a", "d"]),
        ("SELECT U.* EXCEPT (A, d) FROM u", ["c"]),
        ("SELECT *, a + 1 AS n FROM u", ["a", "c", "d", "n"]),
        ("SELECT x.p FROM u AS x (p, q, r)", ["p"]),
        ("SELECT * FROM u AS x (p, q, r)", ["p", "q", "r"]),
        ("WITH v (k, l) AS (SELECT a, c FROM u) SELECT k, l FROM v", ["k", "l"]),
        ("WITH v AS (SELECT a FROM u) SELECT * FROM v AS x (z)", ["z"]),
        ("SELECT * FROM (SELECT a, c FROM u) AS x (p, q)", ["p", "q"]),
        ("SELECT A FROM u", ["A"]),
        ("SELECT u.a FROM u UNION ALL SELECT c FROM w", ["a"]),
        ("VALUES (1, 'x'), (2, 'y')", ["col1", "col2"]),
        ("SELECT * FROM VALUES (1, 'x') AS v (i, j)", ["i", "j"]),
    ],
)
def test_output_names(query: str, expected: list[str]) -> None:
    assert names(bound(query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1 + a FROM u", ["(1 + a)"]),
        ("SELECT 1 + a, 1 + c FROM u", ["(1 + a)", "(1 + c)"]),
        ("SELECT a + 1 FROM u", ["(a + 1)"]),
    ],
)
def test_names_of_unaliased_expressions(query: str, expected: list[str]) -> None:
    assert names(bound(query)) == expected


def test_lateral_alias() -> None:
    assert bound("SELECT a + 1 AS n, n * 2 AS m FROM u") == bound("SELECT a + 1 AS n, (a + 1) * 2 AS m FROM u")


def test_a_column_comes_before_a_lateral_alias() -> None:
    assert bound("SELECT c AS a, a AS b FROM u") == plan("""
        project result [a bigint := u.c, b int := u.a]
          scan u u [a int, c bigint, d decimal(10,2)]
        """)


def test_an_alias_is_not_known_in_where() -> None:
    with pytest.raises(UnknownColumn):
        bound("SELECT a + 1 AS n FROM u WHERE n = 1")


def test_cte_shadows_a_table() -> None:
    assert relations("WITH t AS (SELECT c FROM u) SELECT * FROM t") == ["u"]


def test_cte_does_not_see_itself() -> None:
    """Inside ``WITH t AS (… FROM t)`` the name still means the table."""
    assert relations("WITH t AS (SELECT a FROM t) SELECT * FROM t") == ["t"]


def test_later_ctes_see_earlier_ones() -> None:
    assert relations("WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT * FROM y") == ["t"]
    with pytest.raises(UnknownRelation):
        bound("WITH y AS (SELECT a FROM x), x AS (SELECT a FROM t) SELECT * FROM y")


def test_inner_cte_shadows_an_outer_one() -> None:
    query = "WITH x AS (SELECT a FROM t) SELECT * FROM (WITH x AS (SELECT c FROM w) SELECT * FROM x) AS q"
    assert relations(query) == ["w"]


def test_cte_is_not_known_outside_its_query() -> None:
    with pytest.raises(UnknownRelation):
        bound("SELECT * FROM (WITH x AS (SELECT a FROM t) SELECT * FROM x) AS q, x")


def test_cte_twice_in_one_query() -> None:
    query = "WITH x AS (SELECT a FROM t) SELECT p.a FROM x AS p JOIN x AS q ON p.a = q.a"
    assert relations(query) == ["t", "t"]


def test_duplicates_in_a_subquery_are_harmless_until_named() -> None:
    assert names(bound("SELECT q.c FROM (SELECT t.a, u.a, u.c FROM t, u) AS q")) == ["c"]
    with pytest.raises(DuplicateColumn):
        bound("SELECT * FROM (SELECT t.a, u.a FROM t, u) AS q")


def test_a_list_of_names_tells_duplicates_apart() -> None:
    assert names(bound("SELECT x, y FROM (SELECT t.a, u.a FROM t, u) AS q (x, y)")) == ["x", "y"]


def test_nested_unions() -> None:
    query = "SELECT a FROM t UNION ALL (SELECT a FROM u UNION ALL SELECT 1)"
    found = bound(query)
    assert isinstance(found, Union)
    assert [type(n) for n in walk(found)].count(Union) == 2


def test_union_widens_its_branches() -> None:
    found = bound("SELECT a FROM u UNION ALL SELECT c FROM u UNION ALL SELECT d FROM u")
    assert types(found)[0].startswith("decimal(")
    assert isinstance(found, Union)
    assert {tuple(types(b)) for b in found.inputs} == {tuple(types(found))}


def test_union_of_like_types_is_not_widened() -> None:
    found = bound("SELECT a FROM t UNION ALL SELECT a FROM u")
    assert isinstance(found, Union)
    assert all(isinstance(b, Project) and isinstance(b.input, Scan) for b in found.inputs)


def test_values() -> None:
    found = bound("SELECT * FROM VALUES (1, 'x'), (NULL, 'y') AS v (i, j)")
    (values,) = [n for n in walk(found) if isinstance(n, Values)]
    assert (len(values.rows), types(values)) == (2, ["int", "string"])


def test_filter_for_one_source() -> None:
    found = bound("SELECT a FROM t WHERE a = 1 AND b = 'x'")
    assert isinstance(found, Project)
    assert isinstance(found.input, Filter)
    assert len(found.input.conditions) == 2
    assert not any(isinstance(n, Join) for n in walk(found))


def test_views_stay_scans() -> None:
    views = view_plans(v="SELECT a AS k, d FROM u")
    found = bound("SELECT V.K FROM v", views)
    assert [n.relation for n in walk(found) if isinstance(n, Scan)] == ["v"]


@pytest.mark.parametrize(
    ("query", "construct", "marked"),
    [
        ("SELECT a FROM t LIMIT 3", "LIMIT without ORDER BY", None),
        ("SELECT a FROM t OFFSET 3", "LIMIT without ORDER BY", None),
        ("SELECT a FROM t UNION ALL SELECT a FROM u LIMIT 3", "LIMIT without ORDER BY", None),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1)", "LIMIT without ORDER BY", None),
        ("SELECT a FROM t SORT BY a", "SORT BY", "a"),
        ("SELECT a FROM t CLUSTER BY a", "CLUSTER BY", "a"),
        ("SELECT a FROM t DISTRIBUTE BY a", "DISTRIBUTE BY", "a"),
        ("SELECT t.a FROM t ASOF FULL JOIN u ON t.a >= u.a", "ASOF JOIN other than LEFT and INNER", None),
        ("SELECT (SELECT a, c FROM u) AS x FROM t", "a subquery of several columns in an expression", None),
        ("SELECT size(explode(arr)) FROM t", "a function that makes rows", "explode(arr"),
        ("SELECT explode(arr) AS x FROM t ORDER BY x LIMIT 1", "LIMIT beside a function that makes rows", None),
        (
            "SELECT x FROM t LEFT JOIN LATERAL explode(arr) AS e (x) ON a > 1",
            "an outer join with a function that makes rows",
            None,
        ),
        ("SELECT variant_explode(b) AS x FROM t", "variant_explode()", None),
        ("SELECT * FROM sequence(1, 3)", "the table function sequence()", None),
        ("SELECT * FROM sql_keywords()", "the table function sql_keywords()", None),
        ("SELECT a FROM t@v1", "a name that begins with @", None),
        ("SELECT a AS @x FROM t", "a name that begins with @", None),
        ("SELECT a FROM t WHERE a BETWEEN SYMMETRIC 3 AND 1", "BETWEEN SYMMETRIC", None),
        ("SELECT CAST(b AS INT DEFAULT 1 ON CONVERSION ERROR) AS x FROM t", "CAST … DEFAULT", None),
        ("SELECT CAST(a AS STRING FORMAT 'YY') AS x FROM t", "CAST … FORMAT", None),
        ("SELECT a FROM t GROUP BY DISTINCT ROLLUP (a), CUBE (a)", "GROUP BY DISTINCT", None),
        ("SELECT count(*) AS n FROM t GROUP BY ()", "GROUP BY ()", None),
        ("SELECT a FROM t ORDER BY a LIMIT 1 WITH TIES", "LIMIT … WITH TIES and LIMIT … PERCENT", None),
        ("WITH d AS (INSERT INTO t VALUES (1)) SELECT a FROM t", "an INSERT statement in WITH", None),
        (
            "SELECT a FROM t WHERE EXISTS (WITH w AS (SELECT c FROM u WHERE u.a = t.a) "
            "SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.c = u.c))",
            "WITH that uses the query around, in a subquery inside",
            None,
        ),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE", None),
        ("SELECT a FROM t WHERE a = ?", "a parameter", None),
        ("SELECT a FROM t WHERE a = :x", "a parameter", None),
    ],
)
def test_unsupported_construct(query: str, construct: str, marked: str | None) -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound(query)
    assert refused.value.parameters == {"construct": construct}
    assert refused.value.hint
    at = refused.value.place
    assert at is not None
    assert marked is None or at.text[at.start : at.end] == marked


@pytest.mark.parametrize(
    "call",
    [
        "collect_list(a ORDER BY b)",
        "array_agg(a) WITHIN GROUP (ORDER BY b)",
        "collect_set(DISTINCT a ORDER BY b DESC)",
        "max_by(a, b) WITHIN GROUP (ORDER BY b)",
        "listagg(b, ',' ON OVERFLOW TRUNCATE '…')",
    ],
)
def test_an_order_is_not_passed_over(call: str) -> None:
    with pytest.raises(InvalidExpression if "OVERFLOW" not in call else InvalidSyntax) as refused:
        bound(f"SELECT {call} AS x FROM t")
    assert refused.value.place is not None


@pytest.mark.parametrize("type", ["INT UNSIGNED", "ARRAY<BIGINT UNSIGNED>"])
def test_no_unsigned_types(type: str) -> None:
    with pytest.raises(UnsupportedType, match="has no unsigned types"):
        bound(f"SELECT CAST(a AS {type}) AS x FROM t")


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("rand()", "rand()"),
        ("uuid()", "uuid()"),
        ("shuffle(arr)", "shuffle()"),
        ("monotonically_increasing_id()", "monotonically_increasing_id()"),
        ("now()", "now()"),
        ("current_timestamp()", "current_timestamp()"),
        ("current_date()", "current_date()"),
        ("current_user()", "current_user()"),
    ],
)
def test_non_deterministic(call: str, function: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        bound(f"SELECT a FROM t WHERE {call} IS NULL")
    assert refused.value.parameters == {"function": function}
    assert refused.value.hint
    assert refused.value.place is not None
    assert refused.value.place.column == 23


def test_duplicate_alias() -> None:
    with pytest.raises(DuplicateAlias) as refused:
        bound("SELECT 1 FROM t x JOIN u X ON true")
    assert refused.value.parameters == {"name": "X"}
    assert refused.value.place is not None
    assert refused.value.place.column == 24


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a AS __x FROM t",
        "SELECT __x.a FROM t AS __x",
        "SELECT p FROM u AS x (p, __q, r)",
        "WITH __x AS (SELECT 1 AS a) SELECT a FROM __x",
    ],
)
def test_reserved_name(query: str) -> None:
    with pytest.raises(ReservedName) as refused:
        bound(query)
    assert str(refused.value.parameters["name"]).startswith("__")
    assert refused.value.place is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT p FROM u AS x (p, q)",
        "WITH x (p, q, r, s) AS (SELECT * FROM u) SELECT p FROM x",
        "VALUES (1, 2), (3)",
        "SELECT a FROM t UNION ALL SELECT a, c FROM u",
    ],
)
def test_invalid_expression(query: str) -> None:
    with pytest.raises(InvalidExpression) as refused:
        bound(query)
    assert refused.value.place is not None


def test_unknown_relation_suggests_a_close_name() -> None:
    with pytest.raises(UnknownRelation) as refused:
        bound("WITH stock AS (SELECT 1 AS a) SELECT * FROM stok")
    assert refused.value.parameters == {"name": "stok"}
    assert refused.value.hint == "did you mean stock?"
    assert refused.value.place is not None
    assert refused.value.place.column == 45


def test_star_except_an_unknown_column() -> None:
    with pytest.raises(UnknownColumn) as refused:
        bound("SELECT * EXCEPT (zz) FROM u")
    assert refused.value.parameters == {"name": "zz"}
    assert refused.value.place is not None
    assert refused.value.place.column == 18

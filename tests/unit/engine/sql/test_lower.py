"""From plans to SQL: slots for keys, semi-joins, names that need quotes."""

from __future__ import annotations

import pytest

from tests.unit.schema import only_term, plan, program
from tidings.delta.restrict import restrictions
from tidings.engine.duckdb import DuckDB
from tidings.engine.spark import Spark
from tidings.engine.sql.lower import lower, source_name
from tidings.engine.sql.statement import PreparedStatement, listable_keys
from tidings.ir.relation import Relation, Version

DIALECT = DuckDB.dialect
JOIN = "SELECT t.b FROM t JOIN u ON t.a = u.a"


def lowered(node: Relation, *listed: str) -> PreparedStatement:
    return lower(node, DIALECT, frozenset(listed))


def one_line(node: Relation, *listed: str) -> str:
    return " ".join(lowered(node, *listed).text.split())


def test_a_block_is_one_select() -> None:
    text = one_line(
        plan("""
        project p [x int := t.a + 1]
          join [t.a = u.a, u.c > 2]
            scan t t [a int]
            scan u u [a int, c bigint]
        """)
    )
    assert text.count("SELECT") == 1
    assert 'ON "t"."a" = "u"."a"' in text
    assert 'WHERE "u"."c" > 2' in text


def test_an_unconnected_input_is_a_cross_join() -> None:
    assert "CROSS JOIN" in one_line(plan("join []\n  scan t t [a int]\n  scan u u [c bigint]"))


def test_a_listed_restriction_is_a_slot() -> None:
    statement = lowered(only_term(JOIN, "t").plan, "t")
    (keys,) = statement.key_lists
    assert (keys.columns, keys.type) == ((("t", "a"),), "int")
    assert statement.small
    assert f"IN ({keys.slot})" in " ".join(statement.text.split())
    assert '"u"."a" = 1' in " ".join(statement.filled(lambda _, test: f"{test.tested} = 1").split())


def test_an_unlisted_restriction_is_a_semi_join() -> None:
    statement = lowered(only_term(JOIN, "t").plan)
    assert statement.key_lists == ()
    assert not statement.small
    assert " ".join(statement.text.split()).count("__delta_t") == 2


def test_null_safe_restrictions_keep_nulls() -> None:
    term = only_term("SELECT t.b FROM t JOIN u ON t.a <=> u.a", "t")
    assert '"u"."a" IS NULL' in one_line(term.plan, "t")
    assert "EXISTS(" in one_line(term.plan)


def test_decimals_are_not_listed() -> None:
    term = only_term("SELECT x.c FROM u x JOIN (SELECT d FROM u) y ON x.d = y.d JOIN t ON t.a = x.a", "t")
    types = [r.keys.fields[0].type for r in restrictions(term.plan)]
    assert "decimal(10,2)" in types
    assert all(
        (listable_keys(r, frozenset({"t"})) is None) == (r.keys.fields[0].type == "decimal(10,2)")
        for r in restrictions(term.plan)
    )


def test_filled_does_not_look_for_slots_inside_keys() -> None:
    """A key that happens to read like another slot stays a key."""
    query = "SELECT t.b FROM t JOIN (SELECT e, c FROM w) x ON t.b = x.e JOIN u ON t.a = u.a"
    statement = lowered(only_term(query, "t").plan, "t")
    first, second = statement.key_lists
    inside = next(t.text for t in statement.tests if t.slot == second.slot)
    filled = statement.filled(lambda k, test: f"{test.tested} = '{inside}'" if k is first else "7 = 7")
    assert f"'{inside}'" in filled


def test_names_are_quoted() -> None:
    text = one_line(plan('project p [`a "b` int := `odd t`.`q``z`]\n  scan `odd t` `odd t` [`q``z` int]'))
    assert '"odd t"."q`z" AS "a ""b"' in text


def test_source_names_of_different_relations_differ() -> None:
    tables = ["my table", "my_20_table", "My Table 2", "a.b", "a_2e_b", "a_b", "ab", "é", "_e9_"]
    assert len({source_name(t, Version.OLD) for t in tables}) == len(tables)


def test_a_union_takes_the_names_of_its_own_columns() -> None:
    text = one_line(
        plan("""
        union n [x int]
          scan t t [a int]
          scan u u [c int]
        """)
    )
    assert text.count('AS "x"') == 2
    assert "UNION ALL" in text


def test_constant_rows() -> None:
    text = one_line(plan("values v [a int, b string] [(1, 'x'), (NULL, 'y')]"))
    assert "VALUES (CAST(1 AS INT), CAST('x' AS TEXT)), (CAST(NULL AS INT), CAST('y' AS TEXT))" in text
    assert "FALSE" in one_line(plan("values v [a int] []")).upper()


def test_consolidation_sums_weights_and_drops_zeros() -> None:
    (step,) = program(JOIN, "t", "u").steps
    text = one_line(step.plan)
    assert 'HAVING SUM("result"."__w") <> 0' in text
    assert 'GROUP BY "result"."b", "result"."__t"' in text


def test_casts_are_strict_on_every_engine() -> None:
    text = one_line(plan("project p [x int := CAST(CAST(t.b AS DECIMAL(10, 2)) AS INT)]\n  scan t t [b string]"))
    assert "TRY_CAST" not in text
    assert "TRY_CAST" in one_line(plan("project p [x int := TRY_CAST(t.b AS INT)]\n  scan t t [b string]"))


U, W = "scan u u [a int, c bigint]", "scan w w [c bigint, e string]"


def test_groups_are_named_by_place() -> None:
    text = one_line(plan(f"aggregate g [k int := u.a % 2] [n bigint := COUNT(*)]\n  {U}"))
    assert text.endswith('FROM __current_u AS "u" GROUP BY 1')
    assert 'AS "k"' in text


def test_a_total_has_no_group_by() -> None:
    assert "GROUP BY" not in one_line(plan(f"aggregate g [] [n bigint := COUNT(*)]\n  {U}"))


def test_distinct_rows_are_a_group_by() -> None:
    assert one_line(plan(f"aggregate g [a int := u.a, c bigint := u.c] []\n  {U}")).endswith("GROUP BY 1, 2")


def test_a_window_is_part_of_the_select_above_it() -> None:
    text = one_line(
        plan(f"""
        project p [a int := u.a, n bigint := w.r + 1]
          window w [r bigint := RANK() OVER (PARTITION BY u.a ORDER BY u.c)]
            {U}
        """)
    )
    assert text.count("SELECT") == 1
    assert 'RANK() OVER (PARTITION BY "u"."a" ORDER BY "u"."c"' in text


def test_an_outer_join_is_one_source() -> None:
    text = one_line(
        plan(f"""
        project p [a int := u.a, e string := w.e]
          outer_join [u.c = w.c, u.a > 1]
            {U}
            {W}
        """)
    )
    assert 'LEFT JOIN __current_w AS "w" ON "u"."c" = "w"."c" AND "u"."a" > 1' in text
    assert "WHERE" not in text


def test_an_outer_join_without_conditions() -> None:
    assert 'LEFT JOIN __current_w AS "w" ON TRUE' in one_line(
        plan(f"outer_join []\n  {U}\n  {W.replace('c bigint, ', '')}")
    )


def test_conditions_below_an_outer_join_stay_below() -> None:
    """``A ⟕ σ(B)`` pads the rows that σ leaves without a match; above the join it would drop them."""
    text = one_line(
        plan(f"""
        project p [a int := u.a]
          outer_join [u.c = w.c]
            {U}
            filter [w.e = 'x']
              {W}
        """)
    )
    assert text.index("WHERE") < text.index(' ON "u"."c" = "w"."c"')


@pytest.mark.parametrize(("head", "words"), [("semi_join", "WHERE EXISTS("), ("anti_join", "WHERE NOT EXISTS(")])
def test_semi_joins_are_exists(head: str, words: str) -> None:
    text = one_line(plan(f"{head} [u.c = w.c, w.e = 'x']\n  {U}\n  {W}"))
    assert words in text
    assert "w.e" not in text.split(words)[0]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("except", "EXCEPT"),
        ("except all", "EXCEPT ALL"),
        ("intersect", "INTERSECT"),
        ("intersect all", "INTERSECT ALL"),
    ],
)
def test_set_operations(head: str, words: str) -> None:
    text = one_line(plan(f"{head} n [x bigint]\n  scan w w [c bigint]\n  scan u u [c bigint]"))
    assert f" {words} " in text
    assert ("ALL" in text) is ("ALL" in words)
    assert text.count('AS "x"') == 2


def test_repeated_rows() -> None:
    text = one_line(plan(f"project p [a int := u.a]\n  repeat [u.c]\n    {U}"))
    assert 'UNNEST(GENERATE_SERIES(1, "u"."c"))' in text
    spark = lower(plan(f"project p [a int := u.a]\n  repeat [u.c]\n    {U}"), Spark.dialect).text
    assert "EXPLODE(SEQUENCE(1, `u`.`c`))" in " ".join(spark.split())


def test_keys_of_several_deltas_are_one_list() -> None:
    """When both sides of an outer join change, the keys of both restrict each."""
    term = only_term("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c", "u", "w")
    lists = lowered(term.plan, "u", "w").key_lists
    assert (("u", "c"), ("w", "c")) in {k.columns for k in lists}


def test_keys_that_come_from_a_computation_are_not_listed() -> None:
    term = only_term("SELECT a % 2 AS k, max(c) AS m FROM u GROUP BY a % 2", "u")
    assert restrictions(term.plan)
    assert all(listable_keys(r, frozenset({"u"})) is None for r in restrictions(term.plan))


def test_a_window_needs_a_projection() -> None:
    window = plan(f"window w [r bigint := RANK() OVER (ORDER BY u.c)]\n  {U}")
    with pytest.raises(ValueError, match="below a projection"):
        lower(window, DIALECT)


def test_what_stands_twice_and_is_small_is_named() -> None:
    """Both sides of an outer join are taken at the same versions."""
    term = only_term("SELECT u.a, w.e FROM u LEFT JOIN w ON u.c = w.c", "u", "w")
    text = one_line(term.plan, "u", "w")
    assert text.startswith("WITH __shared_1 AS ( SELECT")
    assert text.count("__shared_1 AS ") == 3
    assert text.count("LEAD(") == 1


def test_what_stands_once_is_not_named() -> None:
    assert "__shared" not in one_line(only_term("SELECT a, max(c) AS m FROM u GROUP BY a", "u").plan, "u")


def test_a_branch_of_several_queries_is_in_parentheses() -> None:
    """``A EXCEPT (B UNION ALL C)`` is not ``A EXCEPT B UNION ALL C``."""
    text = one_line(
        plan("""
        except all n [c bigint]
          scan w w [c bigint]
          union m [c bigint]
            scan u u [c bigint]
            scan t t [c bigint]
        """)
    )
    assert 'EXCEPT ALL ( SELECT "u"."c"' in text
    assert text.endswith('FROM __current_t AS "t" )')


def test_an_outer_join_among_other_inputs_is_one_thing() -> None:
    text = one_line(
        plan(f"""
        project p [a int := u.a]
          join [x.a = u.a]
            scan delta x x [a int]
            outer_join [u.c = w.c]
              {U}
              {W}
        """)
    )
    assert 'JOIN ( __current_u AS "u" LEFT JOIN __current_w AS "w" ON "u"."c" = "w"."c" ) ON "x"."a" = "u"."a"' in text


def test_a_subquery_sees_the_columns_around_it_by_their_names_in_one_task() -> None:
    node = plan(f"""
        project p [a int := u.a]
          semi_join [u.c = w.c]
            join [x.a = u.a]
              {U.replace("scan", "scan delta")}
              scan delta x x [a int]
            {W.replace("scan", "scan delta")}
        """)
    text = " ".join(lower(node, Spark.dialect, frozenset({"u", "x", "w"})).text.split())
    assert "EXISTS( SELECT 1 FROM __delta_w AS `w` WHERE `__rows`.`u.c` = `w`.`c` )" in text

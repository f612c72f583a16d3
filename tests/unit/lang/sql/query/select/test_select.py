"""One SELECT: every clause is an operator, in the order in which SQL evaluates them."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, plan, types
from tidings.errors import InvalidExpression, NonDeterministic, UnknownColumn, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Filter, Project, Relation, Window
from tidings.ir.text import head
from tidings.ir.traverse import walk


def kinds(query: str) -> list[str]:
    """The operators of a query from top to bottom."""
    return [head(n).split()[0] for n in walk(bound(query))]


def first(query: str, kind: type[Relation]) -> Relation:
    return next(n for n in walk(bound(query)) if isinstance(n, kind))


def test_group_by_and_having() -> None:
    assert bound("SELECT a, sum(d) AS s FROM u WHERE c > 0 GROUP BY a HAVING count(*) > 1") == plan("""
        project result [a int := groups.key1, s decimal(20,2) := groups.agg1]
          filter [groups.agg2 > 1]
            aggregate groups [key1 int := u.a] [agg1 decimal(20,2) := SUM(u.d), agg2 bigint := COUNT(*)]
              filter [u.c > 0]
                scan u u [a int, c bigint, d decimal(10,2)]
        """)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a % 2 AS k, max(c) AS m FROM u GROUP BY a % 2",
        "SELECT a % 2 AS k, max(c) AS m FROM u GROUP BY 1",
        "SELECT a % 2 AS k, max(c) AS m FROM u GROUP BY k",
        "SELECT a % 2 AS k, max(c) AS m FROM u GROUP BY ALL",
    ],
)
def test_ways_to_name_a_key(query: str) -> None:
    assert bound(query) == plan("""
        project result [k int := groups.key1, m bigint := groups.agg1]
          aggregate groups [key1 int := u.a % 2] [agg1 bigint := MAX(u.c)]
            scan u u [a int, c bigint, d decimal(10,2)]
        """)


def test_an_aggregate_without_group_by_is_one_group() -> None:
    found = first("SELECT count(*) AS n, max(c) AS m FROM u", Aggregate)
    assert isinstance(found, Aggregate)
    assert (found.keys, len(found.aggregates)) == ((), 2)


def test_having_without_group_by() -> None:
    assert kinds("SELECT 1 AS one FROM u HAVING count(*) > 1") == ["project", "filter", "aggregate", "scan"]


def test_distinct_groups_by_the_whole_row() -> None:
    assert bound("SELECT DISTINCT c, e FROM w") == plan("""
        aggregate result_2 [c bigint := result.c, e string := result.e] []
          project result [c bigint := w.c, e string := w.e]
            scan w w [c bigint, e string]
        """)


def test_distinct_comes_after_windows_and_before_limit() -> None:
    query = "SELECT DISTINCT a, count(*) OVER (PARTITION BY a) AS n FROM u ORDER BY a LIMIT 2"
    assert kinds(query) == ["project", "filter", "window", "aggregate", "project", "window", "scan"]


def test_windows_stand_above_groups() -> None:
    query = "SELECT a, rank() OVER (ORDER BY sum(c)) AS r FROM u GROUP BY a HAVING max(c) > 1"
    assert kinds(query) == ["project", "window", "filter", "aggregate", "scan"]


def test_qualify_is_a_filter_over_the_window() -> None:
    query = "SELECT a FROM u QUALIFY rank() OVER (PARTITION BY a ORDER BY c) = 1"
    found = bound(query)
    assert isinstance(found, Project)
    assert isinstance(found.input, Filter)
    assert isinstance(found.input.input, Window)
    assert bound("SELECT a, rank() OVER (PARTITION BY a ORDER BY c) AS r FROM u QUALIFY r = 1").fields[0].type == "int"


def test_partitions_are_columns() -> None:
    """What windows partition by is computed below them, so that it can be a key."""
    found = first("SELECT a, rank() OVER (PARTITION BY a % 2 ORDER BY c) AS r FROM u", Window)
    assert isinstance(found, Window)
    (partition,) = found.items[0].expression.args["partition_by"]
    assert show(partition) == "`rows`.p1"
    assert isinstance(found.input, Project)


def test_equal_windows_are_computed_once() -> None:
    query = "SELECT rank() OVER (ORDER BY a) AS r, rank() OVER (ORDER BY a) * 2 AS s, rank() OVER (ORDER BY c) FROM u"
    found = first(query, Window)
    assert isinstance(found, Window)
    assert len(found.items) == 2


def test_named_windows() -> None:
    named = bound("SELECT sum(c) OVER w AS s FROM u WINDOW w AS (PARTITION BY a ORDER BY c)")
    assert named == bound("SELECT sum(c) OVER (PARTITION BY a ORDER BY c) AS s FROM u")


def test_order_by_alone_is_no_operator() -> None:
    assert bound("SELECT a FROM u ORDER BY c DESC") == bound("SELECT a FROM u")


def test_types_come_from_the_analyzer() -> None:
    found = bound("SELECT a, count(*) AS n, max(d) AS m, rank() OVER (ORDER BY a) AS r FROM u GROUP BY a")
    assert types(found) == ["int", "bigint", "decimal(10,2)", "int"]
    assert names(found) == ["a", "n", "m", "r"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, c FROM u GROUP BY a",
        "SELECT sum(sum(c)) AS s FROM u",
        "SELECT a FROM u WHERE sum(c) > 1",
        "SELECT a FROM u WHERE rank() OVER (ORDER BY a) = 1",
        "SELECT a FROM u HAVING a > 1",
    ],
)
def test_what_the_analyzer_refuses(query: str) -> None:
    with pytest.raises(InvalidExpression) as refused:
        bound(query)
    assert refused.value.place is not None


@pytest.mark.parametrize("clause", ["GROUP BY 7", "GROUP BY 0", "ORDER BY 7", "ORDER BY 7 LIMIT 1"])
def test_numbers_of_outputs_that_are_not_there(clause: str) -> None:
    with pytest.raises(InvalidExpression):
        bound(f"SELECT a FROM u {clause}")


@pytest.mark.parametrize(
    "clause",
    ["GROUP BY rand()", "HAVING max(a) > rand()", "QUALIFY rank() OVER (ORDER BY rand()) = 1", "ORDER BY rand()"],
)
def test_every_clause_is_a_function_of_the_rows(clause: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        bound(f"SELECT max(a) AS m FROM u {clause}")
    assert refused.value.parameters == {"function": "rand()"}


@pytest.mark.parametrize("name", ["first", "last", "first_value", "last_value", "any_value"])
def test_aggregates_that_depend_on_the_order_of_rows(name: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        bound(f"SELECT {name}(c) AS x FROM u")
    assert refused.value.parameters == {"function": f"{name}()"}
    assert refused.value.hint


def test_an_approximate_percentile_is_named_as_it_is_written() -> None:
    with pytest.raises(NonDeterministic) as refused:
        bound("SELECT percentile_approx(c, 0.5) AS x FROM u")
    assert refused.value.parameters == {"function": "percentile_approx()"}
    assert refused.value.hint is not None
    assert "percentile(" in refused.value.hint


def test_a_sorted_array_does_not_depend_on_order() -> None:
    assert types(bound("SELECT sort_array(collect_list(c)) AS x FROM u")) == ["array<bigint>"]


@pytest.mark.parametrize(
    "clause", ["GROUP BY nosuch", "GROUP BY a HAVING nosuch > 1", "QUALIFY rank() OVER (ORDER BY nosuch) = 1"]
)
def test_unknown_names(clause: str) -> None:
    with pytest.raises((UnknownColumn, InvalidExpression)):
        bound(f"SELECT max(a) AS m FROM u {clause}")


def test_unknown_names_in_order_by() -> None:
    for clause in ("ORDER BY nosuch", "ORDER BY nosuch LIMIT 1"):
        with pytest.raises(UnknownColumn):
            bound(f"SELECT a FROM u {clause}")


def test_distinct_on() -> None:
    with pytest.raises(UnsupportedConstruct) as refused:
        bound("SELECT DISTINCT ON (a) a, c FROM u")
    assert refused.value.parameters == {"construct": "DISTINCT ON"}


@pytest.mark.parametrize(
    "window",
    [
        "row_number() OVER ()",
        "lag(c) OVER (PARTITION BY a)",
        "first(c) OVER (PARTITION BY a)",
        "sum(c) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    ],
)
def test_a_window_that_tells_rows_apart_needs_an_order(window: str) -> None:
    with pytest.raises(NonDeterministic) as refused:
        bound(f"SELECT {window} AS x FROM u")
    assert refused.value.hint


def test_a_star_with_replace() -> None:
    found = bound("SELECT * REPLACE (a + 1 AS a) FROM u")
    assert isinstance(found, Project)
    assert [show(i.expression) for i in found.items] == ["u.a + 1", "u.c", "u.d"]
    with pytest.raises(UnknownColumn):
        bound("SELECT * REPLACE (a + 1 AS nosuch) FROM u")

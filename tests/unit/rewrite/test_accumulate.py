"""Aggregates over accumulators: which can be split, into what, and which are withheld for what reason."""

from __future__ import annotations

import pytest

from tests.unit.schema import normal, plan
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Project, Relation
from tidings.ir.traverse import walk
from tidings.rewrite.accumulate import ROWS, accumulate, grows_only


def aggregate(call: str, type: str, key: str = "[k int := t.k]") -> Aggregate:
    """An aggregate as an engine with Spark's types binds it."""
    columns = (
        "k int, x smallint, i int, z bigint, f double, d decimal(10,2), w decimal(28,2), ww decimal(29,2), s string, "
        "p struct<a:int>"
    )
    found = plan(f"""
        aggregate g {key} [a {type} := {call}]
          scan t t [{columns}]
        """)
    assert isinstance(found, Aggregate)
    return found


def split(call: str, type: str, key: str = "[k int := t.k]") -> tuple[Aggregate, Project]:
    found = accumulate(aggregate(call, type, key))
    assert found is not None
    return found


def shown(call: str, type: str) -> tuple[dict[str, str], str]:
    """The accumulators by name, without the row count, and the aggregate over them."""
    groups, values = split(call, type)
    parts = {a.name: f"{a.type} {show(a.expression)}" for a in groups.aggregates if a.name != ROWS}
    return parts, show(values.items[-1].expression)


def test_rows_are_always_counted() -> None:
    groups, values = split("MAX(t.x)", "smallint")
    assert (groups.aggregates[0].name, show(groups.aggregates[0].expression)) == (ROWS, "COUNT(*)")
    assert [i.name for i in values.items] == ["k", "a"]


def test_a_count_of_rows_is_that_count() -> None:
    assert shown("COUNT(*)", "bigint") == ({}, "g.`rows`")


def test_a_count_of_values_is_one_of_its_own() -> None:
    assert shown("COUNT(t.x)", "bigint") == ({"count1": "bigint COUNT(t.x)"}, "g.count1")


def test_a_sum_is_null_without_values() -> None:
    parts, value = shown("SUM(t.x)", "bigint")
    assert parts == {"sum1": "bigint COALESCE(SUM(t.x), 0)", "count2": "bigint COUNT(t.x)"}
    assert value == "IF(g.count2 > 0, g.sum1, NULL)"


def test_an_average_is_a_sum_and_a_count() -> None:
    parts, value = shown("AVG(t.i)", "double")
    assert parts == {"sum1": "bigint COALESCE(SUM(t.i), 0)", "count2": "bigint COUNT(t.i)"}
    assert value == "IF(g.count2 > 0, CAST(CAST(g.sum1 AS DOUBLE) / g.count2 AS DOUBLE), NULL)"


def test_an_average_of_decimals_is_summed_with_ten_digits_more() -> None:
    parts, value = shown("AVG(t.d)", "decimal(14,6)")
    assert parts["sum1"] == "decimal(20,2) COALESCE(SUM(t.d), 0)"
    assert value == "IF(g.count2 > 0, CAST(__AVERAGE(g.sum1, g.count2, 2) AS DECIMAL(14, 6)), NULL)"


@pytest.mark.parametrize("function", ["MIN", "MAX"])
def test_extremes_are_their_own_accumulators_while_rows_come(function: str) -> None:
    groups, _ = split(f"{function}(t.s)", "string")
    assert show(groups.aggregates[1].expression) == f"{function}(t.s)"
    assert grows_only(groups)


def test_counts_and_sums_are_carried_on_both_ways() -> None:
    for call in ("COUNT(*)", "COUNT(t.s)", "SUM(t.x)"):
        assert not grows_only(split(call, "bigint")[0])


@pytest.mark.parametrize(
    ("call", "type", "argument"),
    [
        ("COUNT(*) FILTER(WHERE t.x > 1)", "bigint", "IF(t.x > 1, 1, NULL)"),
        ("SUM(t.z) FILTER(WHERE t.x > 1)", "bigint", "IF(t.x > 1, t.z, NULL)"),
        ("MIN(t.s) FILTER(WHERE t.x > 1)", "string", "IF(t.x > 1, t.s, NULL)"),
        ("AVG(t.d) FILTER(WHERE t.x > 1)", "decimal(14,6)", "IF(t.x > 1, t.d, NULL)"),
    ],
)
def test_a_filter_becomes_part_of_the_argument(call: str, type: str, argument: str) -> None:
    parts, _ = shown(call, type)
    assert all(argument in part for part in parts.values())


def test_equal_accumulators_are_one() -> None:
    both = plan("""
        aggregate g [k int := t.k] [s bigint := SUM(t.x), a double := AVG(t.x), n bigint := COUNT(t.x)]
          scan t t [k int, x int]
        """)
    assert isinstance(both, Aggregate)
    found = accumulate(both)
    assert found is not None
    assert [a.name for a in found[0].aggregates] == ["rows", "sum1", "count2"]


def test_the_same_columns_come_out() -> None:
    before = aggregate("SUM(t.d)", "decimal(20,2)")
    _, values = split("SUM(t.d)", "decimal(20,2)")
    assert [(f.name, f.type) for f in values.fields] == [(f.name, f.type) for f in before.fields]


def test_without_keys() -> None:
    groups, values = split("SUM(t.x)", "bigint", key="[]")
    assert groups.keys == ()
    assert [i.name for i in values.items] == ["a"]


@pytest.mark.parametrize(
    ("call", "type"),
    [
        ("SUM(t.x)", "bigint"),
        ("SUM(t.d)", "decimal(20,2)"),
        ("SUM(t.w)", "decimal(38,2)"),
        ("SUM(t.x * 2 - 1)", "bigint"),
        ("AVG(t.x)", "double"),
        ("MAX(t.f)", "double"),
        ("MIN(t.ww)", "decimal(29,2)"),
    ],
)
def test_split(call: str, type: str) -> None:
    assert accumulate(aggregate(call, type)) is not None


WITHHELD = {
    "1e20 + 1 - 1e20 is 0 or 1, by the order": ("SUM(t.f)", "double"),
    "so is their average": ("AVG(t.f)", "double"),
    "2^53 + 1 is no double, and engines add up averages as doubles": ("AVG(t.z)", "double"),
    "the type of an expression is not known here": ("AVG(t.i * 2)", "double"),
    "sum and quotient would each be rounded": ("AVG(t.w)", "decimal(32,6)"),
    "from -9e37 to 9e37 is 1.8e38": ("SUM(t.ww)", "decimal(38,2)"),
    "the same inside an expression": ("SUM(t.ww + 1)", "decimal(38,2)"),
    "a value may be there once more": ("COUNT(DISTINCT t.x)", "bigint"),
    "and added only once": ("SUM(DISTINCT t.x)", "bigint"),
    "also under a condition": ("COUNT(DISTINCT t.x) FILTER(WHERE t.i > 1)", "bigint"),
    "several arguments": ("COUNT(t.x, t.i)", "bigint"),
    "nested values": ("MAX(t.p)", "struct<a:int>"),
    "another aggregate": ("STDDEV(t.x)", "double"),
    "a sorted array": ("SORT_ARRAY(COLLECT_LIST(t.x))", "array<smallint>"),
    "a logical one": ("BOOL_AND(t.x > 1)", "boolean"),
}


@pytest.mark.parametrize("reason", WITHHELD)
def test_withheld(reason: str) -> None:
    assert accumulate(aggregate(*WITHHELD[reason])) is None


def test_one_that_is_withheld_withholds_all() -> None:
    both = plan("""
        aggregate g [k int := t.k] [n bigint := COUNT(*), s double := SUM(t.f)]
          scan t t [k int, f double]
        """)
    assert isinstance(both, Aggregate)
    assert accumulate(both) is None


def test_distinct_is_not_split() -> None:
    """Without aggregates there is nothing to carry on but the rows themselves."""
    assert all(accumulate(a) is None for a in aggregates(normal("SELECT DISTINCT a FROM u")))


def test_averages_of_decimals_are_exact() -> None:
    (found,) = aggregates(normal("SELECT a, avg(d) AS m FROM u GROUP BY a"))
    assert accumulate(found) is not None


def aggregates(relation: Relation) -> list[Aggregate]:
    return [n for n in walk(relation) if isinstance(n, Aggregate)]


def test_wide_sums_are_split_only_where_they_are_kept() -> None:
    wide = plan("""
        aggregate g [k int := t.k] [s decimal(38,4) := SUM(t.w)]
          scan t t [k int, w decimal(32,4)]
        """)
    assert isinstance(wide, Aggregate)
    assert accumulate(wide) is None
    assert accumulate(wide, stored=True) is not None

"""Aggregates that depend on the order of rows, written so that they do not."""

from __future__ import annotations

import pytest

from tests.unit.schema import bound, names, types
from tidings.errors import InvalidExpression, UnsupportedConstruct
from tidings.ir.expression import show
from tidings.ir.relation import Aggregate, Project, Window
from tidings.ir.traverse import walk


def parts(call: str) -> tuple[list[str], str]:
    """The aggregates of a call, and the expression over them."""
    plan = bound(f"SELECT {call} AS x FROM u")
    (groups,) = (n for n in walk(plan) if isinstance(n, Aggregate))
    assert isinstance(plan, Project)
    return [show(i.expression) for i in groups.aggregates], show(plan.items[0].expression)


@pytest.mark.parametrize("call", ["collect_list(c)", "array_agg(c)", "COLLECT_LIST(c)"])
def test_arrays_are_sorted(call: str) -> None:
    assert parts(call) == (["SORT_ARRAY(COLLECT_LIST(u.c))"], "COALESCE(groups.agg1, ARRAY())")


@pytest.mark.parametrize("call", ["collect_set(c)", "collect_list(DISTINCT c)"])
def test_sets_have_each_value_once(call: str) -> None:
    assert parts(call) == (["SORT_ARRAY(ARRAY_DISTINCT(COLLECT_LIST(u.c)))"], "COALESCE(groups.agg1, ARRAY())")


def test_an_array_is_collected_in_order_whatever_orders_it_above() -> None:
    """An order of the text's own is taken above a grouping, whose rows must be told apart before."""
    for order in ("sort_array(x, false)", "reverse(x)"):
        assert parts(order.replace("x", "collect_list(c)"))[0] == ["SORT_ARRAY(COLLECT_LIST(u.c))"]


def test_windows_collect_in_order() -> None:
    plan = bound("SELECT collect_set(c) OVER (PARTITION BY a) AS x FROM u")
    (window,) = (n for n in walk(plan) if isinstance(n, Window))
    collected = show(window.items[0].expression)
    assert collected.startswith("SORT_ARRAY(ARRAY_DISTINCT(COLLECT_LIST(u.c) OVER (PARTITION BY ")


def test_filters_stay() -> None:
    collected = "SORT_ARRAY((COLLECT_LIST(u.c) FILTER(WHERE u.a > 1)))"
    assert parts("collect_list(c) FILTER (WHERE a > 1)")[0] == [collected]


@pytest.mark.parametrize(
    ("call", "aggregate"),
    [
        ("listagg(c)", "LISTAGG(CAST(u.c AS STRING), '') WITHIN GROUP (ORDER BY CAST(u.c AS STRING))"),
        ("listagg(c, ',') WITHIN GROUP (ORDER BY a DESC)", "LISTAGG(u.c, ',') WITHIN GROUP (ORDER BY u.a DESC, u.c)"),
        ("mode(c)", "MODE() WITHIN GROUP (ORDER BY u.c)"),
    ],
)
def test_order_within_the_group(call: str, aggregate: str) -> None:
    assert parts(call)[0] == [aggregate]


def test_the_value_breaks_ties() -> None:
    row = "CASE WHEN NOT u.a IS NULL THEN STRUCT(u.a AS y, NOT u.c IS NULL AS there, u.c AS x) END"
    assert parts("max_by(c, a)") == ([f"MAX({row})"], "(groups.agg1).x")
    assert parts("min_by(c, a) FILTER (WHERE a > 1)")[0] == [f"MIN({row}) FILTER(WHERE u.a > 1)"]


@pytest.mark.parametrize(
    "call",
    ["percentile(d, 0.5)", "median(d)", "median(DISTINCT d)", "percentile_cont(0.1) WITHIN GROUP (ORDER BY d DESC)"],
)
def test_percentiles_are_doubles(call: str) -> None:
    assert types(bound(f"SELECT {call} AS x FROM u")) == ["double"]
    assert all("COLLECT_LIST(CAST(u.d AS DOUBLE))" in p and p.startswith("SORT_ARRAY(") for p in parts(call)[0])


def test_several_percentiles() -> None:
    assert types(bound("SELECT percentile(d, array(0.1, 0.9)) AS x FROM u")) == ["array<double>"]


def test_what_is_written_names_the_column() -> None:
    assert names(bound("SELECT collect_list(c), max_by(c, a) FROM u")) == ["collect_list(c)", "max_by(c, a)"]


@pytest.mark.parametrize(
    ("call", "aggregate"),
    [
        ("any(a > 1)", "BOOL_OR(u.a > 1)"),
        ("some(a > 1) FILTER (WHERE c > 1)", "BOOL_OR(u.a > 1) FILTER(WHERE u.c > 1)"),
        ("every(a > 1)", "BOOL_AND(u.a > 1)"),
    ],
)
def test_any_some_and_every(call: str, aggregate: str) -> None:
    assert parts(call)[0] == [aggregate]


def test_several_extremes_are_an_array_of_the_first_rows() -> None:
    (aggregate,), item = parts("min_by(c, a, 2)")
    assert aggregate.startswith("SORT_ARRAY(COLLECT_LIST(CASE WHEN NOT u.a IS NULL THEN STRUCT(")
    assert "SLICE(" in str(item)


def test_refused() -> None:
    with pytest.raises(InvalidExpression):
        bound("SELECT percentile(d, 50) AS x FROM u")
    with pytest.raises(UnsupportedConstruct):
        bound("SELECT percentile(d, c) AS x FROM u")
    for several in ("0", "a", "100001"):
        with pytest.raises(InvalidExpression):
            bound(f"SELECT max_by(c, a, {several}) AS x FROM u")
    with pytest.raises(InvalidExpression):
        bound("SELECT percentile_cont(0.5) AS x FROM u")

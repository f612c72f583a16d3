"""What a stage below has to compute, and what is left over its columns."""

from __future__ import annotations

import pytest

from tidings.ir.expression import read, show
from tidings.ir.relation import Field
from tidings.lang.sql.query.select.stages import (
    Stage,
    has_aggregate,
    has_window,
    partitioned,
    settled,
    with_computed,
    without_aggregates,
    without_windows,
)

FIELDS = (Field("t", "a", "int"), Field("t", "b", "string"))


def grouped(expression: str, *keys: str) -> tuple[str, dict[str, str]]:
    """What is left of an expression over a grouping, and the aggregates taken out."""
    stage, aggregates = Stage("g", "key"), Stage("g", "agg")
    for key in keys:
        stage.name(read(key))
    rest = without_aggregates(read(expression), [stage], aggregates)
    return show(rest), {name: show(e) for e, name in aggregates.computed.items()}


@pytest.mark.parametrize(
    ("expression", "rest", "taken"),
    [
        ("t.a + 1", "g.key1 + 1", {}),
        ("SUM(t.c)", "g.agg1", {"agg1": "SUM(t.c)"}),
        ("SUM(t.c) / COUNT(*)", "g.agg1 / g.agg2", {"agg1": "SUM(t.c)", "agg2": "COUNT(*)"}),
        ("SUM(t.c) + SUM(t.c)", "g.agg1 + g.agg1", {"agg1": "SUM(t.c)"}),
        ("SUM(t.a)", "g.agg1", {"agg1": "SUM(t.a)"}),
        ("SUM(t.c) FILTER(WHERE t.b = 'x')", "g.agg1", {"agg1": "SUM(t.c) FILTER(WHERE t.b = 'x')"}),
        ("COUNT(DISTINCT t.c) > 1 AND t.a > 1", "g.agg1 > 1 AND g.key1 > 1", {"agg1": "COUNT(DISTINCT t.c)"}),
        ("RANK() OVER (ORDER BY SUM(t.c))", "RANK() OVER (ORDER BY g.agg1)", {"agg1": "SUM(t.c)"}),
        ("SUM(SUM(t.c)) OVER (ORDER BY t.a)", "SUM(g.agg1) OVER (ORDER BY g.key1)", {"agg1": "SUM(t.c)"}),
    ],
)
def test_aggregates_are_taken_out(expression: str, rest: str, taken: dict[str, str]) -> None:
    assert grouped(expression, "t.a") == (rest, taken)


def test_a_key_may_be_an_expression() -> None:
    assert grouped("(t.a % 2) * 10 + MAX(t.c)", "t.a % 2") == ("(g.key1) * 10 + g.agg1", {"agg1": "MAX(t.c)"})


def test_windows_are_taken_out() -> None:
    stage = Stage("w", "w")
    rest = without_windows(read("ROW_NUMBER() OVER (ORDER BY t.a) + SUM(t.c) OVER (PARTITION BY t.b)"), stage)
    assert show(rest) == "w.w1 + w.w2"
    assert len(stage.computed) == 2


def test_what_is_computed_is_taken_from_the_stage() -> None:
    stage = Stage("rows", "p")
    stage.name(read("t.a % 2"))
    assert show(with_computed(read("SUM(t.c) OVER (PARTITION BY t.a % 2)"), stage)) == (
        "SUM(t.c) OVER (PARTITION BY `rows`.p1)"
    )


@pytest.mark.parametrize(
    ("expression", "aggregate", "window"),
    [
        ("t.a + 1", False, False),
        ("MAX(t.a)", True, False),
        ("UPPER(MAX(t.b))", True, False),
        ("MAX(t.a) OVER (PARTITION BY t.b)", False, True),
        ("SUM(MAX(t.a)) OVER (PARTITION BY t.b)", True, True),
        ("ROW_NUMBER() OVER (ORDER BY t.a)", False, True),
        ("MAX_BY(t.a, t.b)", True, False),
        ("GREATEST(t.a, 1)", False, False),
    ],
)
def test_what_has_an_aggregate_or_a_window(expression: str, aggregate: bool, window: bool) -> None:
    assert (has_aggregate(read(expression)), has_window(read(expression))) == (aggregate, window)


@pytest.mark.parametrize(
    "window",
    [
        "ROW_NUMBER() OVER (ORDER BY t.a)",
        "NTILE(4) OVER (ORDER BY t.a)",
        "LAG(t.b) OVER (ORDER BY t.a)",
        "LAG(t.b) IGNORE NULLS OVER (ORDER BY t.a)",
        "FIRST_VALUE(t.b) OVER (ORDER BY t.a)",
        "SUM(t.a) OVER (ORDER BY t.a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    ],
)
def test_the_whole_row_breaks_ties(window: str) -> None:
    order = settled(read(window), FIELDS).args["order"].expressions
    assert [show(o.this) for o in order] == ["t.a", "t.a", "t.b"]


@pytest.mark.parametrize(
    "window",
    [
        "RANK() OVER (ORDER BY t.a)",
        "DENSE_RANK() OVER (ORDER BY t.a)",
        "SUM(t.a) OVER (ORDER BY t.a)",
        "SUM(t.a) OVER (PARTITION BY t.b)",
        "COUNT(*) OVER ()",
    ],
)
def test_functions_that_treat_ties_alike_stay(window: str) -> None:
    """``rank`` must see ties as ties: a longer order would tell them apart."""
    before = read(window)
    assert settled(before, FIELDS) is before


def test_a_subquery_counts_apart_for_each_row_around_it() -> None:
    tied = partitioned(read("RANK() OVER (ORDER BY t.a)"), [read("d.x")])
    assert show(tied) == "RANK() OVER (PARTITION BY d.x ORDER BY t.a)"
    plain = read("RANK() OVER (ORDER BY t.a)")
    assert partitioned(plain, []) is plain

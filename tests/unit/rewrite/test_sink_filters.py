"""``σ_p(A ⟕ B) = σ_p(A) ⟕ B`` where p reads A."""

from __future__ import annotations

import pytest

from tidings.ir import text
from tidings.rewrite.sink_filters import sink_filters

T, U, V = "scan t t [a int, b int]", "scan u u [a int]", "scan v v [a int]"


def lines(*parts: str) -> str:
    """A plan of lines, each with its depth in front."""
    return "\n".join("  " * int(p[0]) + p[2:] for p in parts)


@pytest.mark.parametrize("join", ["outer_join", "semi_join", "anti_join"])
def test_a_condition_on_the_left_side_sinks(join: str) -> None:
    before = lines("0 filter [t.b > 1]", f"1 {join} [t.a = u.a]", f"2 {T}", f"2 {U}")
    after = lines(f"0 {join} [t.a = u.a]", "1 filter [t.b > 1]", f"2 {T}", f"1 {U}")
    assert text.show(sink_filters(text.parse(before))) == after


def test_through_joins_below_one_another_into_a_join() -> None:
    before = lines(
        "0 filter [t.b > 1, t.a < v.a]",
        "1 outer_join [t.a = u.a]",
        "2 outer_join [t.a = w.a]",
        "3 join [t.a = v.a]",
        f"4 {T}",
        f"4 {V}",
        "3 scan w w [a int]",
        f"2 {U}",
    )
    after = lines(
        "0 outer_join [t.a = u.a]",
        "1 outer_join [t.a = w.a]",
        "2 join [t.a = v.a, t.b > 1, t.a < v.a]",
        f"3 {T}",
        f"3 {V}",
        "2 scan w w [a int]",
        f"1 {U}",
    )
    assert text.show(sink_filters(text.parse(before))) == after


def test_out_of_a_join_above() -> None:
    before = lines("0 join [t.a = v.a, t.b > 1]", "1 outer_join [t.a = u.a]", f"2 {T}", f"2 {U}", f"1 {V}")
    after = lines("0 join [t.a = v.a]", "1 outer_join [t.a = u.a]", "2 filter [t.b > 1]", f"3 {T}", f"2 {U}", f"1 {V}")
    assert text.show(sink_filters(text.parse(before))) == after


@pytest.mark.parametrize("condition", ["u.a IS NULL", "t.a > u.a", "1 = 0"])
def test_not_what_reads_the_right_side_or_nothing(condition: str) -> None:
    plan = text.parse(lines(f"0 filter [{condition}]", "1 outer_join [t.a = u.a]", f"2 {T}", f"2 {U}"))
    assert sink_filters(plan) is plan


def test_not_through_a_projection_that_computes() -> None:
    project = "2 project p [a int := t.a + 1]"
    before = lines("0 filter [p.a > 1]", "1 outer_join [p.a = u.a]", project, f"3 {T}", f"2 {U}")
    after = lines("0 outer_join [p.a = u.a]", "1 filter [p.a > 1]", project, f"3 {T}", f"1 {U}")
    assert text.show(sink_filters(text.parse(before))) == after

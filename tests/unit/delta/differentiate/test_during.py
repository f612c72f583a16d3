"""Δ(τ_c A): the changes at their own instants and later ones, and the old rows with an instant in the batch."""

from __future__ import annotations

from tidings.analysis.influents import CLOCK
from tidings.delta.differentiate import differentiate, state
from tidings.explain import algebra
from tidings.ir import text
from tidings.ir.relation import During, Filter, Relation, Scan, Unnest, Version
from tidings.ir.traverse import walk

TIMED = text.parse("""
during [a.x <= TIMESTAMP_MICROS(__NOW())] [UNIX_MICROS(a.x), UNIX_MICROS(a.x) + 1]
  scan a a [k int, x timestamp]
""")


def shown(*changed: str) -> list[str]:
    return [f"{t.influent}: {algebra(t.rows.plan)}" for t in differentiate(TIMED, frozenset(changed))]


def arrays(plan: Relation) -> list[str]:
    return [line for line in text.show(plan).splitlines() if "unnest" in line]


def test_a_term_for_the_changes_and_one_for_time() -> None:
    assert shown("a") == ["a: π(σ(π(μ(π(Δa)))))"]
    assert shown(CLOCK) == ["now(): π(σ(π(μ(π(σ(a))))))"]
    assert shown("a", CLOCK) == [*shown("a"), *shown(CLOCK)]
    assert shown() == []


def test_a_changed_row_counts_from_its_own_instant() -> None:
    (term,) = differentiate(TIMED, frozenset({"a"}))
    (array,) = arrays(term.rows.plan)
    assert "ARRAY(CAST(a.__t AS BIGINT), CAST(UNIX_MICROS(a.x) AS BIGINT)" in array
    (kept,) = (n for n in walk(term.rows.plan) if isinstance(n, Filter))
    assert "a.__b >= a.__t" in text.show(kept).splitlines()[0]


def test_old_rows_are_found_by_a_range_of_their_column() -> None:
    (term,) = differentiate(TIMED, frozenset({CLOCK}))
    near = next(n for n in walk(term.rows.plan) if isinstance(n, Filter) and isinstance(n.input, Scan))
    assert "a.x >= TIMESTAMP_MICROS(__SINCE() - " in text.show(near)
    assert {n.version for n in walk(term.rows.plan) if isinstance(n, Scan)} == {Version.OLD}


def test_instants_are_taken_once_per_row() -> None:
    for term in differentiate(TIMED, frozenset({"a", CLOCK})):
        assert "ARRAY_DISTINCT" in arrays(term.rows.plan)[0]
        assert sum(isinstance(n, Unnest) for n in walk(term.rows.plan)) == 1
        assert not any(isinstance(n, During) for n in walk(term.rows.plan))


def test_the_old_state_is_what_held_when_the_batch_began() -> None:
    old = state(TIMED, frozenset(), Version.OLD)
    assert text.show(old.plan).splitlines()[0] == "filter [a.x <= TIMESTAMP_MICROS(__SINCE())]"


UNNESTED = text.parse("""
project p [k int := a.k, e int := e.x]
  unnest e [x int := a.l]
    scan a a [k int, l array<int>]
""")


def test_unnesting_is_linear() -> None:
    (term,) = differentiate(UNNESTED, frozenset({"a"}))
    assert algebra(term.rows.plan) == "π(μ(Δa))"
    assert differentiate(UNNESTED, frozenset({CLOCK})) == []
    assert algebra(state(UNNESTED, frozenset(), Version.OLD).plan) == "π(μ(a))"

"""How many rows of states a program reads, by estimate."""

from __future__ import annotations

from tests.unit.schema import bound, program
from tidings.delta.cost import FANOUT, Reading, Sizes, estimate, fixed_costs, readings
from tidings.delta.recompute import recompute_program
from tidings.ir.relation import Version

JOIN = "SELECT u.a, w.e FROM u JOIN w ON u.c = w.c"
TOTAL = "SELECT max(a) AS m FROM u"


def sizes(rows: int = 1000, changes: int = 3, instants: int = 1) -> Sizes:
    return Sizes(lambda _: rows, lambda _: changes, instants)


def test_a_linear_program_reads_no_state() -> None:
    found = program("SELECT a FROM u WHERE c > 1", "u")
    assert readings(found) == []
    assert estimate(found, sizes()) == 0


def test_a_join_reads_the_rows_of_the_keys() -> None:
    found = program(JOIN, "u")
    assert readings(found) == [Reading("w", Version.OLD, frozenset({"u"}), 1, "c")]
    assert estimate(found, sizes(changes=3)) == 3 * FANOUT


def test_rows_per_key_where_they_are_known() -> None:
    asked: list[tuple[str, str]] = []

    def fanout(relation: str, column: str) -> float:
        asked.append((relation, column))
        return 250.5

    known = Sizes(lambda _: 1000, lambda _: 3, 1, fanout)
    assert estimate(program(JOIN, "u"), known) == 752
    assert asked == [("w", "c")]


def test_an_engine_may_take_a_toll_for_keys_it_does_not_list() -> None:
    found = program(JOIN, "u")
    few, many = (Sizes(lambda _: 1000, lambda _, n=n: n, 1, fixed_cost=500, listed=10) for n in (10, 11))  # type: ignore[misc]
    assert (fixed_costs(found, few), fixed_costs(found, many), fixed_costs(found, sizes(changes=11))) == (0, 500, 0)
    assert fixed_costs(program(TOTAL, "u"), many) == 0


def test_a_restricted_read_is_never_more_than_the_whole() -> None:
    found = program(JOIN, "u")
    whole = estimate(found, sizes(rows=10, changes=1000))
    assert whole <= 1010


def test_a_join_without_an_equality_reads_the_whole() -> None:
    assert estimate(program("SELECT u.a, w.e FROM u JOIN w ON u.c < w.c", "u"), sizes()) >= 1000


def test_without_a_key_every_instant_reads_the_whole() -> None:
    found = program(TOTAL, "u")
    assert {r.times for r in readings(found, 4)} == {5}
    once, often = estimate(found, sizes(instants=1)), estimate(found, sizes(instants=9))
    assert often == 5 * once


def test_changes_of_a_step_are_those_of_what_it_reads() -> None:
    """The keys of the groups above come from the changes of the join below."""
    found = program("SELECT u.a, max(w.e) AS m FROM u JOIN w ON u.c = w.c GROUP BY u.a", "u")
    few, many = estimate(found, sizes(rows=10**6, changes=1)), estimate(found, sizes(rows=10**6, changes=100))
    assert 0 < few < many <= 100 * few


def test_a_recompute_reads_both_states() -> None:
    plan = bound(JOIN)
    found = recompute_program("result", plan, frozenset({"u"}), {})
    per_version = {(r.relation, r.version) for r in readings(found)}
    assert per_version == {(r, v) for r in ("u", "w") for v in (Version.OLD, Version.CURRENT)}
    assert estimate(found, Sizes(lambda _: 1000, lambda r: 3 if r == "u" else 0, 1)) == 4003


def test_a_recompute_from_nothing_reads_the_changes() -> None:
    """Otherwise it would seem to cost nothing to recompute at every instant since a table was made."""
    found = recompute_program("result", bound(TOTAL), frozenset({"u"}), {})
    assert estimate(found, sizes(rows=0, changes=500)) == 500

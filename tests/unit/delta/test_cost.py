"""The work of a program, by estimate, and the seconds an engine takes for it."""

from __future__ import annotations

from tests.unit.schema import bound, program
from tidings.delta.cost import (
    FANOUT,
    LOOKUP_OPERATORS,
    ROW_GROUP,
    Cost,
    Reading,
    Shape,
    Sizes,
    Speeds,
    cost,
    differential_shape,
    recompute_shape,
)
from tidings.delta.plan import Program
from tidings.delta.recompute import recompute_program
from tidings.ir.relation import Version

JOIN = "SELECT u.a, w.e FROM u JOIN w ON u.c = w.c"
TOTAL = "SELECT max(a) AS m FROM u"


def sizes(rows: int = 1000, changes: int = 3, instants: int = 1) -> Sizes:
    return Sizes(lambda _: rows, lambda _: changes, instants)


def differential(program: Program, sizes: Sizes) -> Cost:
    return cost(differential_shape(program), sizes)


def recompute(query: str) -> Shape:
    return recompute_shape(recompute_program("result", bound(query), frozenset({"u"}), {}))


def test_a_linear_program_reads_no_state() -> None:
    found = program("SELECT a FROM u WHERE c > 1", "u")
    assert differential_shape(found).readings == ()
    done = differential(found, sizes())
    assert (done.statements, done.scanned, done.rows, done.changes) == (1, 0, 0, 3)


def test_a_join_reads_the_rows_of_the_keys() -> None:
    found = program(JOIN, "u")
    (reading,) = differential_shape(found).readings
    assert reading == Reading("w", Version.OLD, reading.name, frozenset({"u"}), "c")
    done = differential(found, sizes(changes=3))
    assert (done.found, done.whole) == (3 * FANOUT, 0)


def test_keys_are_looked_for_in_the_whole_column_unless_it_is_in_order() -> None:
    found = program(JOIN, "u")
    large = 10 * ROW_GROUP
    assert differential(found, sizes(rows=large)).scanned == large
    in_order = Sizes(lambda _: large, lambda _: 3, 1, order=lambda _: "c")
    assert differential(found, in_order).scanned == 3 * ROW_GROUP


def test_a_lookup_is_a_statement_and_so_is_the_step() -> None:
    shape = differential_shape(program(JOIN, "u"))
    assert shape.statements == 2
    alone = differential_shape(program("SELECT u.a FROM u", "u"))
    assert shape.operators > alone.operators + LOOKUP_OPERATORS


def test_keys_that_are_computed_take_a_statement_more() -> None:
    """The rows of w say which of t are looked up."""
    found = program("SELECT u.a, t.b FROM u JOIN w ON u.c = w.c JOIN t ON w.e = t.b", "u")
    first, second = differential_shape(found).readings
    assert first.name in second.keys
    assert differential_shape(found).statements == 3
    assert differential(found, sizes(rows=10**6, changes=3)).found == 2 * 3 * FANOUT


def test_rows_per_key_where_they_are_known() -> None:
    asked: list[tuple[str, str]] = []

    def fanout(relation: str, column: str) -> float:
        asked.append((relation, column))
        return 250.5

    known = Sizes(lambda _: 1000, lambda _: 3, 1, fanout)
    assert differential(program(JOIN, "u"), known).found == 752
    assert asked == [("w", "c")]


def test_no_more_is_found_than_there_is() -> None:
    done = differential(program(JOIN, "u"), sizes(rows=10, changes=1000))
    assert done.found <= 1010


def test_a_join_without_an_equality_reads_the_whole() -> None:
    assert differential(program("SELECT u.a, w.e FROM u JOIN w ON u.c < w.c", "u"), sizes()).whole >= 1000


def test_without_a_key_every_instant_reads_the_whole() -> None:
    found = program(TOTAL, "u")
    shape = differential_shape(found)
    assert {r.every_instant for r in shape.readings} == {True}
    assert shape.keyless == ("an aggregate without GROUP BY",)
    once, often = differential(found, sizes(instants=1)), differential(found, sizes(instants=9))
    assert often.whole == 5 * once.whole


def test_changes_of_a_step_are_those_of_what_it_reads() -> None:
    """The keys of the groups above come from the changes of the join below."""
    found = program("SELECT u.a, max(w.e) AS m FROM u JOIN w ON u.c = w.c GROUP BY u.a", "u")
    few = differential(found, sizes(rows=10**6, changes=1)).found
    many = differential(found, sizes(rows=10**6, changes=100)).found
    assert 0 < few < many <= 100 * few


def test_a_recompute_reads_both_states() -> None:
    shape = recompute(JOIN)
    per_version = {(r.relation, r.version) for r in shape.readings}
    assert per_version == {(r, v) for r in ("u", "w") for v in (Version.OLD, Version.CURRENT)}
    done = cost(shape, Sizes(lambda _: 1000, lambda r: 3 if r == "u" else 0, 1))
    assert (done.statements, done.whole, done.scanned) == (1, 4003, 0)


def test_a_recompute_from_nothing_reads_the_changes() -> None:
    """Otherwise it would seem to cost nothing to recompute at every instant since a table was made."""
    assert cost(recompute(TOTAL), sizes(rows=0, changes=500)).whole == 500


def test_work_several_times() -> None:
    assert Cost(1, 2, 3, 4, 5, 6).times(3) == Cost(3, 6, 9, 12, 15, 18)


def test_seconds() -> None:
    speeds = Speeds(statement=1.0, operator=0.1, scanned=2.0, found=3.0, whole=5.0)
    million = 1_000_000
    assert speeds.seconds(Cost(statements=2, operators=5)) == 2.5
    assert speeds.seconds(Cost(scanned=million, found=million, changes=million, whole=million)) == 2 + 3 + 3 + 5
    assert speeds.of_rows.seconds(Cost(statements=2, operators=5, whole=million)) == 5

"""Plans of waves: which programs are compiled, and for what."""

from __future__ import annotations

import pytest

from tests.unit.inside import plan_of, scheduler_of
from tidings import Database
from tidings.engine.changes import no_changes
from tidings.engine.source import Source
from tidings.waves.planner import Planner
from tidings.waves.strategy import Strategy
from tidings.waves.wave import Wave, WaveRequest

COUNTS = "SELECT item, count(*) AS n FROM quantity GROUP BY item"


@pytest.fixture
def planner(db: Database) -> Planner:
    db.sql("INSERT INTO quantity VALUES (1, 5), (2, 50); INSERT INTO threshold VALUES (1, 10), (2, 10)")
    return scheduler_of(db).planner


def planned(db: Database, text: str, since: int = 0, *, net: bool = False) -> Wave:
    return scheduler_of(db).plan(WaveRequest("result", plan_of(db, text), since, db.time, net=net))


def test_a_program_is_compiled_once_for_the_same_changed_tables(db: Database, planner: Planner) -> None:
    first = planned(db, "low")
    assert first.program.changed == {"quantity", "threshold"}
    assert planned(db, "low").program is first.program
    before = db.time
    db.sql("INSERT INTO quantity VALUES (3, 1)")
    assert planned(db, "low", before).program.changed == {"quantity"}
    assert planned(db, "low").program is first.program


def test_equal_texts_of_two_names_are_two_programs(db: Database, planner: Planner) -> None:
    plan = plan_of(db, "low")
    programs = [planner.differential(name, plan, frozenset({"quantity"}), {}) for name in ("a", "b", "a")]
    assert programs[0] is programs[2]
    assert [p.view for p in programs] == ["a", "b", "a"]


def test_what_changed_in_a_batch(db: Database, planner: Planner) -> None:
    tables = frozenset({"quantity", "threshold", "now()"})
    before = db.time
    db.sql("INSERT INTO quantity VALUES (3, 1)")
    assert planner.changed(tables, before, db.time) == {"quantity", "now()"}
    assert planner.changed(tables, db.time, db.time) == frozenset()


def test_changes_are_counted(db: Database, planner: Planner) -> None:
    assert planned(db, "low").changes == 4
    assert planned(db, COUNTS).changes == 2


def test_a_recompute_is_done_at_every_instant_unless_the_net_is_enough(db: Database, planner: Planner) -> None:
    planner.only = Strategy.RECOMPUTE
    db.sql(
        "INSERT INTO quantity VALUES (3, 1); INSERT INTO threshold VALUES (3, 9); INSERT INTO quantity VALUES (4, 1)"
    )
    instants = [1000, 1002, 1004]
    assert planned(db, COUNTS).ends == tuple(instants)
    assert planned(db, COUNTS, net=True).ends == (db.time,)


def test_a_precomputed_delta_stands_for_what_the_view_reads(db: Database, planner: Planner) -> None:
    db.sql("CREATE VIEW items AS SELECT item FROM low")
    plan, columns = plan_of(db, "items"), db._parts.relations.columns("low")
    assert columns is not None
    empty = {"low": Source(columns[1], None, no_changes(columns[1]))}
    wave = planner.plan(WaveRequest("items", plan, 0, db.time, precomputed=empty))
    assert (wave.choice.strategy, wave.changes) == (Strategy.NOTHING, 0)
    delta = scheduler_of(db).delta("low", plan_of(db, "low"), 0, db.time, net=False)
    full = {"low": Source(columns[1], None, delta)}
    wave = planner.plan(WaveRequest("items", plan, 0, db.time, precomputed=full))
    assert (wave.choice.strategy, wave.changes) == (Strategy.DIFFERENTIAL, 1)
    assert wave.program.changed == {"low"}
    assert scheduler_of(db).executor.run(wave)["items"].column("item").to_pylist() == [1]


def test_what_a_transaction_expands_is_found_out_once(db: Database, planner: Planner) -> None:
    """Unless a stored view is below: whether its rows are there depends on the instant."""
    db.sql("CREATE MATERIALIZED VIEW stored AS SELECT item FROM quantity")
    touched, none = frozenset({"quantity"}), frozenset[str]()
    over_view, over_stored = plan_of(db, "SELECT item FROM low"), plan_of(db, "SELECT item FROM stored")
    assert set(planner.definitions_inside(over_view, db.time, touched)) == {"low"}
    assert planner.definitions_inside(over_view, 5, touched) is planner.definitions_inside(over_view, 6, touched)
    assert set(planner.definitions_inside(over_stored, db.time, none)) == set()
    assert set(planner.definitions_inside(over_stored, db.time, touched)) == {"stored"}
    assert set(planner.definitions_inside(over_stored, db.time + 5, none)) == {"stored"}

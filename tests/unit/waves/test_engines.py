"""In process, else on the engine: what is chosen, and what happens if it fails there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.unit.inside import in_process_of, plan_of, scheduler_of
from tidings import Database, errors
from tidings.delta.recompute import recompute_program
from tidings.waves.engines import ProgramRun
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.step_inputs import LookupTooLarge
from tidings.waves.strategy import Strategy

QUERY = "SELECT k, count(*) AS n FROM t GROUP BY k"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "db", engine="duckdb", execution="auto", clock=tidings.ManualClock(1)) as database:
        database.sql("CREATE TABLE t (k INT, x INT); INSERT INTO t VALUES (1, 1), (1, 2), (2, 3)")
        yield database


def run_of(db: Database, changed: str = "t", *, recompute: bool = False) -> ProgramRun:
    """How the query changed since the beginning, to be computed in one of two ways."""
    scheduler, plan, names = scheduler_of(db), plan_of(db, QUERY), frozenset({changed})
    planner, sources = scheduler.planner, scheduler.executor.sources
    if recompute:
        program = recompute_program("result", plan, names, {})
        return ProgramRun(program, sources, 0, db.time, recompute_at=(db.time,))
    return ProgramRun(planner.differential("result", plan, names, {}), sources, 0, db.time, changes=3)


def counts(deltas: dict[str, object]) -> list[tuple[int, int]]:
    rows = deltas["result"].to_pylist()  # type: ignore[attr-defined]
    return sorted((row["k"], row["n"]) for row in rows)


@pytest.mark.parametrize("recompute", [False, True])
def test_in_process_where_nothing_speaks_against_it(db: Database, recompute: bool) -> None:
    result = scheduler_of(db).engines.run(run_of(db, recompute=recompute))
    assert result.in_process
    assert result.lookup_seconds is not None
    assert counts(result.deltas) == [(1, 2), (2, 1)]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(
    "failure", [LookupTooLarge("9 keys\nmore"), errors.EngineFailed(engine="duckdb", reason="out of memory")]
)
def test_what_fails_in_process_runs_on_the_engine(
    db: Database, monkeypatch: pytest.MonkeyPatch, failure: Exception, recompute: bool
) -> None:
    def fails(*_: object) -> object:
        raise failure

    for name in ("run", "recompute"):
        monkeypatch.setattr(InProcessRunner, name, fails)
    result = scheduler_of(db).engines.run(run_of(db, recompute=recompute))
    assert result.choice == ("duckdb", str(failure).splitlines()[0])
    assert (result.rows_read, result.lookup_seconds) == (None, None)
    assert counts(result.deltas) == [(1, 2), (2, 1)]


def test_what_fails_on_both_engines_is_raised(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    before = db.time
    db.sql("INSERT INTO t VALUES (0, 1)")
    with pytest.raises(errors.EngineFailed):
        db.changes("SELECT CAST(concat('x', k) AS INT) AS n FROM t", before)


def test_a_program_without_steps_has_no_changes(db: Database) -> None:
    result = scheduler_of(db).engines.run(run_of(db, changed="other"))
    assert result.deltas["result"].num_rows == 0


def test_without_a_second_engine_everything_runs_on_the_first(db: Database) -> None:
    engines = scheduler_of(db).engines
    program = run_of(db).program
    assert engines.choice(program, 3).execution == "in-process"
    engines.in_process = None
    assert engines.choice(program, 3) == ("duckdb", "execution is duckdb")
    assert not engines.run(run_of(db)).in_process


def test_the_obstacle_is_the_reason(db: Database) -> None:
    engines, program = scheduler_of(db).engines, run_of(db).program
    many = 10_000_000
    assert engines.obstacle(program, many) == in_process_of(db).obstacle(program, many)
    assert "more than" in engines.choice(program, many).why


def test_the_groupings_of_a_recomputed_view_may_run_in_process(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """They fall back like any other program."""
    db.sql(f"CREATE MATERIALIZED VIEW per_k WITH (refresh = 'manual') AS {QUERY}")
    db.sql("INSERT INTO t VALUES (2, 4)")

    def fails(*_: object) -> object:
        raise LookupTooLarge("too much")

    monkeypatch.setattr(InProcessRunner, "recompute", fails)
    scheduler_of(db).planner.only = Strategy.RECOMPUTE
    db.refresh("per_k")
    assert sorted(tuple(row.values()) for row in db.query("per_k").rows()) == [(1, 2), (2, 2)]
    assert db.waves()[-1].why == "too much"

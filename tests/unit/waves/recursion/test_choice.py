"""Whether a recursion is stored where nothing is declared: on demand until that has cost as much as storing it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidings
from tidings.engine.recursion.evaluations import Evaluations
from tidings.waves.recursion.choice import MOST_ROWS, RecursionCosts

CLOSURE = "reach(x, y) :- edge(x, y). reach(x, y) :- edge(x, z), reach(z, y)."


def _chain(db: tidings.Database, length: int) -> None:
    db.sql("CREATE TABLE edge (src INT, dst INT)")
    with db.transaction() as tx:
        tx.insert("edge", [{"src": n, "dst": n + 1} for n in range(length)])


def _is_stored(db: tidings.Database, view: str = "reach") -> bool:
    return next(bool(row["stored"]) for row in db.views().rows() if row["name"] == view)


def _reason(db: tidings.Database) -> str:
    return next(line for line in db.explain("reach", since=db.time).splitlines() if "recursion reach" in line)


def test_a_recursion_that_is_read_again_and_again_is_stored() -> None:
    with tidings.open(engine="duckdb") as db:
        _chain(db, 60)
        db.datalog(CLOSURE)
        db.advance()
        assert not _is_stored(db)
        assert (
            "on demand, by cost: 0 rows derived again in 0 waves and 0 reads; storing would derive about 60 once"
            in _reason(db)
        )
        whole = len(db.query("reach").rows())
        subscription = db.subscribe("reach", since=db.time)
        db.advance()
        assert _is_stored(db), "one evaluation is what storing costs"
        assert "old rows stored, by cost" in _reason(db)
        db.sql("DELETE FROM edge WHERE src = 0")
        (batch,) = list(subscription)
        assert len(batch.changes.rows()) == 60
        assert len(db.query("reach").rows()) == whole - 60


def test_old_rows_that_are_derived_again_count() -> None:
    with tidings.open(engine="duckdb") as db:
        _chain(db, 30)
        db.datalog(CLOSURE)
        waves = 0
        while not _is_stored(db) and waves < 10:
            before = db.time
            db.sql("INSERT INTO edge VALUES (0, 1)" if waves % 2 else "DELETE FROM edge WHERE src = 0")
            assert len(db.changes("reach", since=before).rows()) == 30
            db.advance()
            waves += 1
        (costs,) = db._parts.scheduler.recursion.costs.values()
        assert costs.waves == waves < 10
        assert costs.derived >= 1_000, "as many as storing takes, at the least"


@pytest.mark.parametrize("declared", [False, True, ["reach"], []])
def test_a_declaration_decides(declared: bool | list[str]) -> None:
    with tidings.open(engine="duckdb") as db:
        _chain(db, 60)
        db.datalog(CLOSURE, stored=declared)
        for _ in range(3):
            db.query("reach").rows()
            db.advance()
        assert _is_stored(db) == bool(declared)
        assert "as declared" in _reason(db)


@pytest.mark.parametrize(("directive", "expected"), [(".stored reach", True), (".stored reach never", False)])
def test_the_program_may_declare_it(directive: str, expected: bool) -> None:
    with tidings.open(engine="duckdb") as db:
        _chain(db, 60)
        db.datalog(f"{CLOSURE} {directive}")
        db.query("reach").rows()
        db.advance()
        assert _is_stored(db) == expected


def test_what_is_left_to_costs_stays_so_when_the_database_is_opened_again(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        _chain(db, 60)
        db.datalog(CLOSURE)
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        assert "by cost" in _reason(db)
        db.query("reach").rows()
        db.advance()
    with tidings.open(tmp_path / "db", engine="duckdb") as db:
        assert _is_stored(db)
        assert "old rows stored, by cost" in _reason(db)


def test_what_is_very_large_is_never_stored_by_itself() -> None:
    costs = RecursionCosts(waves=1, changed=1, told=1, derived=10 * MOST_ROWS)
    assert not costs.choice(MOST_ROWS + 1, Evaluations()).stored
    assert costs.choice(MOST_ROWS, Evaluations()).stored

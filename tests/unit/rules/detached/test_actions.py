"""Detached actions run in transactions of their own; what cannot run now is recorded."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database


def states(db: Database) -> list[tuple[str, str | None]]:
    return [(f.state, f.error) for f in db._parts.registry.store.firings()]


def test_in_the_order_they_were_recorded(db: Database) -> None:
    db.sql(f"CREATE RULE act {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition")
    for item in (2, 1):
        db.sql(f"UPDATE stock SET qty = 5 WHERE item = {item}")
    actions = db._parts.detached.actions
    actions.run_firings({2})
    assert rows(db, "orders") == [(1, 1)]
    assert actions.run_waiting()
    assert states(db) == [("done", None)] * 2
    assert not actions.run_waiting()


def test_one_whose_procedure_is_not_registered_waits(db: Database) -> None:
    db.sql(f"CREATE RULE act {LOW} DO CALL note(); UPDATE stock SET qty = 5 WHERE item = 1")
    assert not db._parts.detached.actions.run_waiting()
    ((state, error),) = states(db)
    assert state == "waiting"
    assert error is not None
    assert "note" in error
    seen: list[Any] = []
    db.procedure("note")(seen.append)
    assert db._parts.detached.actions.run_waiting()
    assert (seen, states(db)) == ([[{"item": 1}]], [("done", None)])


def test_one_that_fails_is_tried_again_later(db: Database) -> None:
    db.sql(f"CREATE RULE act {LOW} DO CALL fail(); UPDATE stock SET qty = 5 WHERE item = 1")

    @db.procedure("fail")
    def fail(instances: list[Any]) -> None:
        raise ValueError("no luck")

    assert db._parts.detached.actions.run_waiting()
    assert states(db) == [("retrying", "ValueError: no luck")]

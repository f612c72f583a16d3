"""Detached conditions are judged up to the present, and cursors are moved."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, fired, rows
from tidings import Database

DETACHED = "WITH (condition = 'detached')"


@pytest.fixture
def rules(db: Database) -> Database:
    db.sql(f"CREATE RULE low_stock {LOW} DO NOTIFY 'x' {DETACHED}")
    db.sql(f"CREATE RULE other WHEN SELECT item FROM orders DO NOTIFY 'x' {DETACHED}")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    return db


def test_one_fires_and_all_cursors_are_moved(rules: Database) -> None:
    conditions = rules._parts.detached.conditions
    assert conditions.judge()
    assert fired(rules) == [("low_stock", 1)]
    assert (
        {r.cursor for r in rules._parts.registry.rules()}
        == {r.until for r in rules._parts.registry.store.rules()}
        == {rules.time}
    )
    assert not conditions.judge()


def test_one_that_fails_stays_where_it_is(rules: Database) -> None:
    rules.sql(f"CREATE RULE bad WHEN SELECT CAST(what AS INT) AS n FROM log DO NOTIFY 'x' {DETACHED}")
    before = rules._parts.registry.record("bad").until
    rules.sql("INSERT INTO log VALUES ('three', 1)")
    rules._parts.detached.conditions.judge()
    bad = rules._parts.registry.record("bad")
    assert bad.error is not None
    assert bad.until == before
    assert rules._parts.registry.record("other").until == rules.time


def test_an_immediate_action_moves_the_cursor_with_its_transaction(db: Database) -> None:
    db.sql(f"""
        CREATE RULE act {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition
          WITH (condition = 'detached', action = 'immediate');
        UPDATE stock SET qty = 5 WHERE item = 1; UPDATE stock SET qty = 5 WHERE item = 2
    """)
    db._parts.detached.conditions.judge()
    assert rows(db, "orders") == [(1, 1), (2, 1)]
    assert [f.state for f in db._parts.registry.store.firings()] == ["done", "done"]

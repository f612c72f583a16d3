"""Conditions and actions take turns until nothing is left to do; then groups that are due are sent."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.rules.test_agenda import LOW, rows
from tidings import Database, ManualClock
from tidings.store.rules.outbox import Outbox


def test_actions_trigger_conditions(db: Database) -> None:
    db.sql(f"""
        CREATE RULE first {LOW} DO INSERT INTO orders SELECT item, 1 FROM condition WITH (condition = 'detached');
        CREATE RULE second WHEN SELECT item FROM orders DO INSERT INTO log SELECT 'ordered', item FROM condition
          WITH (condition = 'detached');
        UPDATE stock SET qty = 5
    """)
    db._parts.detached.advance()
    assert rows(db, "log") == [("ordered", 1), ("ordered", 2)]


def test_a_group_is_sent_when_it_is_due(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group_wait = INTERVAL '1' MINUTE)")
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1; UPDATE stock SET qty = 5 WHERE item = 2")
    outbox = Outbox(db._parts.storage.rule_tables)
    db._parts.detached.advance()
    assert outbox.entries() == []
    clock.advance(timedelta(minutes=2))
    db._parts.detached.advance()
    assert len(outbox.entries()) == 1

"""Conditions judged over what is committed, each transaction alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.unit.rules.test_agenda import LOW
from tidings import Database, ManualClock
from tidings.engine.changes import by_instant
from tidings.ir.expression import TIME
from tidings.rules.condition.committed import firing_rows_by_instant


def judged(db: Database, text: str) -> list[tuple[int, list[dict[str, Any]]]]:
    rule = db._parts.registry.find_or_propose(text)
    detection = db._parts.rules.detection
    happenings = None if rule.event is None else detection.replayed(rule, 2_000_000, db.time)
    found = firing_rows_by_instant(db._parts.scheduler, rule, 2_000_000, db.time, happenings)
    return [(at // 1_000_000, rows.to_pylist()) for at, rows in found if rows.num_rows]


@pytest.fixture
def history(db: Database, clock: ManualClock) -> Database:
    """The quantity of item 1, second by second."""
    db.sql("CREATE EVENT bell (n INT)")
    for second, qty in ((3, 5), (4, 4), (5, 100), (6, 3)):
        clock.set(second * 1_000_000)
        db.sql(f"UPDATE stock SET qty = {qty} WHERE item = 1")
    return db


def test_each_transaction_by_itself(history: Database) -> None:
    assert judged(history, f"CREATE RULE r {LOW} DO NOTIFY 'x'") == [(3, [{"item": 1}]), (6, [{"item": 1}])]
    assert judged(history, "CREATE RULE r WHEN GONE SELECT item FROM low DO NOTIFY 'x'") == [(5, [{"item": 1}])]


def test_nervous_rules_fire_for_what_is_touched(history: Database) -> None:
    text = "CREATE RULE r WHEN SELECT item, qty FROM stock WHERE item = 1 DO NOTIFY 'x' WITH (semantics = 'nervous')"
    assert [at for at, _ in judged(history, text)] == [3, 4, 5, 6]


def test_changes_have_old_and_new_values(history: Database) -> None:
    text = "CREATE RULE r WHEN SELECT old.qty, new.qty FROM CHANGES(stock) WHERE new.qty < old.qty DO NOTIFY 'x'"
    falls = [(3, 100, 5), (4, 5, 4), (6, 100, 3)]
    assert judged(history, text) == [(at, [{"old_qty": old, "qty": new}]) for at, old, new in falls]


def test_only_when_the_event_happens(history: Database, clock: ManualClock) -> None:
    clock.set(7_000_000)
    with history.transaction() as tx:
        tx.sql("UPDATE stock SET qty = 7 WHERE item = 2")
        tx.insert("log", [("x", 2)])
    text = f"CREATE RULE r ON INSERT INTO log {LOW} DO NOTIFY 'x'"
    assert judged(history, text) == [(7, [{"item": 2}])]


def test_a_signal_is_judged_once_and_not_when_it_is_gone(history: Database, clock: ManualClock) -> None:
    clock.set(7_000_000)
    history.signal("bell", [(1,)])
    assert judged(history, "CREATE RULE r WHEN SELECT n FROM bell DO NOTIFY 'x'") == [(7, [{"n": 1}])]
    assert judged(history, "CREATE RULE r WHEN GONE SELECT n FROM bell DO NOTIFY 'x'") == []
    assert judged(history, f"CREATE RULE r ON SIGNAL bell {LOW} DO NOTIFY 'x'") == [(7, [{"item": 1}])]


def test_by_instant() -> None:
    delta = pa.table({"n": [1, 2, 3], TIME: [5, 4, 5]})
    assert {at: part["n"].to_pylist() for at, part in by_instant(delta).items()} == {4: [2], 5: [1, 3]}
    assert by_instant(delta.slice(0, 0)) == {}

"""When rules have something to do next, if nothing is committed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tidings import Database, ManualClock
from tidings.lang.sql import statement as sql
from tidings.rules.detached.deadlines import earliest, next_deadline, next_instant

SECOND = 1_000_000
MINUTE = 60 * SECOND


def deadline(db: Database, after: int) -> int | None:
    return next_deadline(db._parts.rules, after, tick=SECOND)


def test_without_rules_there_is_none(db: Database) -> None:
    assert deadline(db, 0) is None
    db.sql("CREATE RULE r WHEN SELECT item FROM stock WHERE qty < 5 DO NOTIFY 'x'")
    assert deadline(db, 0) is None


@pytest.mark.parametrize(
    ("event", "after", "expected"),
    [
        ("EVERY INTERVAL 10 SECONDS", 0, 10),
        ("EVERY INTERVAL 10 SECONDS", 10, 20),
        ("AT TIMESTAMP '1970-01-01 00:01:00'", 59, 60),
        ("AT TIMESTAMP '1970-01-01 00:01:00'", 60, None),
        ("EVERY INTERVAL 40 SECONDS OR AT TIMESTAMP '1970-01-01 00:01:00'", 41, 60),
        ("INSERT INTO stock OR EVERY INTERVAL 40 SECONDS", 0, 40),
        ("INSERT INTO stock AND DELETE FROM stock", 0, None),
        ("SIGNAL e THEN EVERY '* * * * *' WITHIN INTERVAL 1 DAY", 61, 120),
    ],
)
def test_events_of_the_clock(event: str, after: int, expected: int | None) -> None:
    (statement,) = sql.read(f"CREATE RULE r ON {event} WHEN SELECT item FROM stock DO NOTIFY 'x'")
    assert isinstance(statement, sql.CreateRule)
    assert statement.event is not None
    instant = next_instant(statement.event, after * SECOND)
    assert instant == (None if expected is None else expected * SECOND)


def test_what_reads_the_clock_is_looked_at_tick_by_tick(db: Database) -> None:
    db.sql("CREATE TABLE job (due TIMESTAMP); CREATE RULE r WHEN SELECT due FROM job WHERE due < now() DO NOTIFY 'x'")
    assert deadline(db, 7) == 7 + SECOND
    db.sql("DISABLE RULE r")
    assert deadline(db, 7) is None


def test_instances_are_due(db: Database) -> None:
    db.sql("CREATE RULE r WHEN SELECT item FROM stock WHERE qty < 5 DO NOTIFY 'x' WITH (for = INTERVAL 1 MINUTE)")
    db.advance()
    db.sql("UPDATE stock SET qty = 1 WHERE item = 1")
    db.advance()
    due = db.time + MINUTE
    assert deadline(db, due - 1) == due
    assert deadline(db, due) is None
    db.sql("DISABLE RULE r")
    assert deadline(db, due - 1) is None


def test_gathered_messages_are_due(db: Database) -> None:
    db.sql(
        "CREATE RULE r WHEN SELECT item FROM stock WHERE qty < 5 DO NOTIFY 'x'"
        " WITH (group_by = item, group_wait = INTERVAL 1 MINUTE)"
    )
    db.sql("UPDATE stock SET qty = 1 WHERE item = 1")
    assert deadline(db, db.time) == db.time + MINUTE


def test_actions_are_tried_again(db: Database, clock: ManualClock) -> None:
    @db.procedure("fail")
    def fail(rows: Any) -> None:
        raise ConnectionError("no line")

    db.sql("CREATE RULE r WHEN SELECT item FROM stock WHERE qty < 5 DO CALL fail(item)")
    db.sql("UPDATE stock SET qty = 1 WHERE item = 1")
    db.advance()
    (entry,) = db.deliveries.entries()
    assert deadline(db, clock.now()) == entry.due
    clock.advance(timedelta(days=1))
    assert deadline(db, clock.now()) is None, "what is due already has been tried, or waits for its procedure"


def test_the_earliest() -> None:
    assert earliest(None, 3, 2) == 2
    assert earliest(None) is None


def test_time_that_is_counted_from_another_event(db: Database, clock: ManualClock) -> None:
    db.sql("CREATE EVENT e; CREATE RULE r ON SIGNAL e PLUS INTERVAL 5 MINUTES DO NOTIFY 'x'")
    assert deadline(db, clock.now()) is None
    signalled = db.signal("e", [(True,)])
    db.advance()
    assert deadline(db, clock.now()) == signalled + 5 * MINUTE
    clock.advance(timedelta(minutes=5, seconds=1))
    db.advance()
    assert deadline(db, clock.now()) is None
    assert len(db.query("tidings.firings").rows()) == 1

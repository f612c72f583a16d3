"""Instances are tracked from the cursor of a rule on, and replayed from any instant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tidings import Database, ManualClock
from tidings.rules.instance.tracking import InstanceTracker
from tidings.store.rules import instances
from tidings.store.rules.instances import Instance

MINUTE = 60_000_000
TEXT = "CREATE RULE r WHEN SELECT item FROM low DO NOTIFY 'x' WITH (for = INTERVAL '1' MINUTE)"


@pytest.fixture
def tracker(db: Database) -> InstanceTracker:
    return InstanceTracker(db._parts.storage, db._parts.scheduler, db._parts.rules.detection)


def stored(db: Database) -> list[Instance]:
    with db._parts.storage.rule_tables.reading() as connection:
        return instances.all_of(connection, 1)


def test_only_what_something_happens_to_is_recorded(db: Database, clock: ManualClock, tracker: InstanceTracker) -> None:
    db.sql(TEXT)
    db.advance()
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    (rule,) = db._parts.registry.rules()
    tracked = tracker.track(rule, db.time, db._parts.rules.silences)
    assert tracked.fired == []
    (instance,) = tracked.instances.values()
    assert instance is not None
    assert (instance.phase, instance.count, instance.began) == ("pending", 1, db.time)
    assert instance.due == db.time + MINUTE
    assert stored(db) == []


def test_what_holds_when_tracking_starts_does_not_fire(db: Database, clock: ManualClock) -> None:
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    db.sql(TEXT)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    clock.advance(timedelta(minutes=2))
    db.advance()
    assert sorted((i.row.to_pylist()[0]["item"], i.phase, i.quiet) for i in stored(db)) == [
        (1, "alive", True),
        (2, "alive", False),
    ]
    assert [f.rows.to_pylist() for f in db._parts.registry.store.firings()] == [[{"item": 2}]]


def test_replay_takes_what_held_at_its_start_as_begun(
    db: Database, clock: ManualClock, tracker: InstanceTracker
) -> None:
    clock.set(2_000_000)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    since = db.time
    clock.set(3_000_000)
    db.sql("UPDATE stock SET qty = 5 WHERE item = 2")
    rule = db._parts.registry.find_or_propose(TEXT)
    replayed = tracker.replay(rule, since, 3_000_000 + MINUTE)
    assert [(at, fired.rows.to_pylist()) for at, fired in replayed] == [(3_000_000 + MINUTE, [{"item": 2}])]
    assert tracker.replay(rule, since, 3_000_000 + MINUTE - 1) == []

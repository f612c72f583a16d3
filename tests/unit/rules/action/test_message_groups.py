"""Gathered notices: instances that are told together."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.unit.rules.instance.test_lifecycle import low, pass_minutes, payloads
from tests.unit.rules.test_agenda import LOW
from tests.unit.rules.test_silence import states
from tidings import Database, ManualClock
from tidings.errors import InvalidRule, UnknownColumn


@pytest.fixture
def links(db: Database) -> Database:
    """Links in two regions, all of them up."""
    db.sql("""
        CREATE TABLE link (name STRING PRIMARY KEY, region STRING, up BOOLEAN);
        INSERT INTO link VALUES ('a', 'north', true), ('b', 'north', true), ('c', 'south', true)
    """)
    return db


def rule(db: Database, options: str) -> None:
    db.sql(f"CREATE RULE down WHEN SELECT name, region FROM link WHERE NOT up DO NOTIFY 'x' WITH ({options})")


def switch(db: Database, *names: str, up: bool = False) -> None:
    """A transaction for each link."""
    for name in names:
        db.sql(f"UPDATE link SET up = {str(up).lower()} WHERE name = '{name}'")


def told(db: Database) -> list[tuple[Any, list[str]]]:
    """What was sent, in order: the group and its rows."""
    return [(data["group"], [row["name"] for row in data["rows"]]) for data in payloads(db)]


def test_the_first_message_waits_for_more(links: Database, clock: ManualClock) -> None:
    rule(links, "group_by = region, group_wait = INTERVAL 1 MINUTE")
    switch(links, "a", "c", "b")
    assert [f.state for f in links._parts.registry.store.firings()] == ["gathered"] * 3
    pass_minutes(links, clock, 0.9)
    assert told(links) == []
    pass_minutes(links, clock, 0.2)
    assert told(links) == [({"region": "north"}, ["a", "b"]), ({"region": "south"}, ["c"])]
    assert [f.state for f in links._parts.registry.store.firings()] == ["sent"] * 3
    assert [data["firings"] for data in payloads(links)] == [[1, 3], [2]]
    pass_minutes(links, clock, 60)
    assert len(told(links)) == 2


def test_later_messages_keep_their_distance(links: Database, clock: ManualClock) -> None:
    rule(links, "group_interval = INTERVAL 10 MINUTES")
    switch(links, "a")
    assert told(links) == [({}, ["a"])]
    switch(links, "b")
    pass_minutes(links, clock, 5)
    switch(links, "c")
    pass_minutes(links, clock, 4.9)
    assert len(told(links)) == 1
    pass_minutes(links, clock, 0.2)
    assert told(links)[1:] == [({}, ["b", "c"])]


def test_messages_wait_for_the_instants_of_a_cron_text(links: Database, clock: ManualClock) -> None:
    rule(links, "group_at = '0 8 * * *'")
    switch(links, "a")
    pass_minutes(links, clock, 60)
    switch(links, "b")
    assert told(links) == []
    pass_minutes(links, clock, 24 * 60)
    assert told(links) == [({}, ["a", "b"])]
    switch(links, "c")
    pass_minutes(links, clock, 24 * 60)
    assert told(links)[1:] == [({}, ["c"])]
    assert [e.message.created % 86_400_000_000 for e in links.deliveries.entries()] == [8 * 3_600_000_000] * 2


def test_when_somebody_looks_does_not_matter(links: Database, clock: ManualClock) -> None:
    """A message takes what was there when it was due, though it is written later."""
    rule(links, "group_wait = INTERVAL 1 MINUTE, group_interval = INTERVAL 10 MINUTES")
    switch(links, "a")
    clock.advance(timedelta(minutes=2))
    switch(links, "b")
    clock.advance(timedelta(minutes=2))
    switch(links, "c")
    pass_minutes(links, clock, 60)
    assert told(links) == [({}, ["a"]), ({}, ["b", "c"])]
    created = [e.message.created for e in links.deliveries.entries()]
    assert created[1] - created[0] == 10 * 60_000_000


def test_groups_of_one_transaction(links: Database) -> None:
    rule(links, "group_by = region")
    links.sql("UPDATE link SET up = false")
    assert sorted(told(links), key=str) == [({"region": "north"}, ["a", "b"]), ({"region": "south"}, ["c"])]
    assert [f.state for f in links._parts.registry.store.firings()] == ["sent"]


def test_what_begins_and_what_is_gone_in_one_message(links: Database, clock: ManualClock) -> None:
    rule(links, "group_by = region, group_wait = INTERVAL 5 MINUTES, resolved")
    switch(links, "a", "b")
    pass_minutes(links, clock, 2)
    switch(links, "a", up=True)
    pass_minutes(links, clock, 4)
    (data,) = payloads(links)
    assert [row["name"] for row in data["rows"]] == ["a", "b"]
    (gone,) = data["gone"]
    assert (gone["name"], gone["seconds"]) == ("a", pytest.approx(120, abs=0.001))


def test_what_is_silenced_is_not_gathered(links: Database, clock: ManualClock) -> None:
    rule(links, "group_wait = INTERVAL 1 MINUTE")
    links.sql("SILENCE RULE down WHERE name = 'a' FOR INTERVAL 1 HOUR")
    switch(links, "a", "b")
    pass_minutes(links, clock, 2)
    assert told(links) == [({}, ["b"])]


def test_what_is_gathered_survives(tmp_path: Path) -> None:
    clock = ManualClock(1_000_000)

    def opened() -> Database:
        return tidings.open(tmp_path / "d", engine="duckdb", clock=clock)

    with opened() as db:
        db.sql("""
            CREATE TABLE stock (item INT PRIMARY KEY, qty INT); INSERT INTO stock VALUES (1, 100), (2, 100);
            CREATE RULE tell WHEN SELECT item FROM stock WHERE qty < 10 DO NOTIFY 'x'
              WITH (group_wait = INTERVAL 1 MINUTE, group_interval = INTERVAL 1 HOUR)
        """)
        low(db, 1)
    with opened() as db:
        low(db, 2)
        assert states(db) == [("gathered", [1]), ("gathered", [2])]
        clock.advance(timedelta(minutes=2))
    with opened() as db:
        db.advance()
        assert [data["rows"] for data in payloads(db)] == [[{"item": 1}, {"item": 2}]]
        db.sql("UPDATE stock SET qty = 100")
        low(db, 1)
    with opened() as db:
        pass_minutes(db, clock, 30)
        assert len(payloads(db)) == 1
        pass_minutes(db, clock, 31)
        assert len(payloads(db)) == 2


def test_a_rule_that_is_dropped_tells_nothing_more(db: Database, clock: ManualClock) -> None:
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group_wait = INTERVAL 1 MINUTE)")
    low(db, 1)
    db.sql("DROP RULE tell")
    db.sql(f"CREATE RULE tell {LOW} DO NOTIFY 'x' WITH (group_wait = INTERVAL 1 MINUTE)")
    pass_minutes(db, clock, 2)
    assert (payloads(db), states(db)) == ([], [("failed", [1])])


def test_what_cannot_be_gathered(links: Database) -> None:
    with pytest.raises(UnknownColumn):
        rule(links, "group_by = nothing")
    with pytest.raises(InvalidRule):
        links.sql("CREATE RULE a WHEN SELECT name FROM link DO CALL f(name) WITH (group_wait = INTERVAL 1 MINUTE)")

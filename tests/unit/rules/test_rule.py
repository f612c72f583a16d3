"""What follows from a rule's statement: its order, its couplings, its columns, and when it is effective."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.rules.test_agenda import LOW
from tidings import Database
from tidings.lang.sql.statements.event import And, Event, Every, Or, SignalEvent, Then
from tidings.rules.event.check import is_temporal, needs_order
from tidings.rules.rule import Rule

A, B = SignalEvent("a"), SignalEvent("b")


def rule(db: Database, rest: str) -> Rule:
    return db._parts.registry.find_or_propose(f"CREATE RULE r {rest}")


def test_the_greatest_priority_comes_first_then_the_oldest(db: Database) -> None:
    urgent = rule(db, f"{LOW} DO NOTIFY 'x' WITH (priority = 5)")
    old, new = (replace(rule(db, f"{LOW} DO NOTIFY 'x'"), record=replace(urgent.record, id=n)) for n in (1, 2))
    assert sorted([new, old, urgent], key=lambda each: each.order) == [urgent, old, new]


def test_effective_until_it_expires(db: Database) -> None:
    times = "effective = '1970-01-01 00:00:10', expires = '1970-01-01 00:00:20'"
    timed = rule(db, f"{LOW} DO NOTIFY 'x' WITH ({times})")
    assert [timed.is_effective(second * 1_000_000) for second in (9, 10, 19, 20)] == [False, True, True, False]
    assert timed.is_active(10_000_000)
    timed.record = replace(timed.record, enabled=False)
    assert not timed.is_active(10_000_000)


@pytest.mark.parametrize(
    ("rest", "columns"),
    [
        ("WHEN SELECT item, qty FROM low", ["item", "qty"]),
        ("WHEN CHANGED SELECT item, qty FROM low", ["item", "qty", "change"]),
        ("WHEN GONE SELECT item FROM low", ["item"]),
    ],
)
def test_columns(db: Database, rest: str, columns: list[str]) -> None:
    assert [c.name for c in rule(db, f"{rest} DO NOTIFY 'x'").columns] == columns


def test_columns_by_key_and_of_instances_that_are_gone(db: Database) -> None:
    by_key = rule(db, "WHEN CHANGED SELECT item, qty FROM low DO NOTIFY 'x' WITH (key = ITEM)")
    assert (by_key.key, [c.name for c in by_key.columns]) == (("item",), ["item", "qty", "change", "old_qty"])
    gone = rule(db, "WHEN GONE SELECT item FROM low DO NOTIFY 'x' WITH (for = INTERVAL '1' MINUTE)")
    assert [c.name for c in gone.columns] == ["item", "began", "ended", "seconds"]
    assert (gone.has_lifecycle, gone.condition_coupling) == (True, "detached")


@pytest.mark.parametrize(
    ("event", "temporal", "ordered"),
    [
        (None, False, False),
        (A, False, False),
        (Or((A, Every(5))), True, False),
        (Then((A, B), None), False, True),
        (Then((A, B), 5), False, False),
        (Or((A, And((B, Then((A, B), None)), 5))), False, True),
    ],
)
def test_events_that_wait_for_time_or_need_the_order(event: Event | None, temporal: bool, ordered: bool) -> None:
    assert (is_temporal(event), needs_order(event)) == (temporal, ordered)

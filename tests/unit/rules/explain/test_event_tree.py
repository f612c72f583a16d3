"""Events as trees, also those of operators that the printer does not know."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.errors import Place
from tidings.lang.sql import statement as sql
from tidings.lang.sql.statements.event import At, Event, Every, SignalEvent, TableEvent
from tidings.rules.explain.event_tree import event_tree, label, simple_events


@dataclass(frozen=True, slots=True)
class NotBetween:
    """An operator of another kind: its parts are single fields."""

    first: Event
    unless: Event
    within: int
    strictly: bool = False
    times: int | None = None
    place: Place | None = None


def event(text: str) -> Event:
    (statement,) = sql.read(f"CREATE RULE r ON {text} DO NOTIFY 'x'")
    assert isinstance(statement, sql.CreateRule)
    assert statement.event is not None
    return statement.event


def test_nested_operators() -> None:
    tree = event_tree(
        event("INSERT INTO a OR (DELETE FROM a AND SIGNAL e) THEN UPDATE OF b(x, y) WITHIN INTERVAL 2 HOURS")
    )
    assert tree.splitlines() == [
        "OR",
        "├── INSERT INTO a",
        "└── THEN within 2 hours",
        "    ├── AND",
        "    │   ├── DELETE FROM a",
        "    │   └── SIGNAL e",
        "    └── UPDATE OF b(x, y)",
    ]


def test_simple_events() -> None:
    assert event_tree(event("EVERY INTERVAL 1 DAY")) == "EVERY 1 day"
    found = list(simple_events(event("AT '2026-01-31 12:00:00' OR SIGNAL e THEN INSERT INTO a")))
    assert [type(e) for e in found] == [At, SignalEvent, TableEvent]
    assert label(found[0]) == "AT 2026-01-31 12:00:00"


def test_an_operator_is_drawn_from_its_fields() -> None:
    place = Place("x", 0, 1)
    operator = NotBetween(SignalEvent("e"), Every(1_000_000), 60_000_000, strictly=True, times=3, place=place)
    assert event_tree(operator).splitlines() == [  # type: ignore[arg-type]
        "NOT BETWEEN within 1 minute strictly times 3",
        "├── SIGNAL e",
        "└── EVERY 1 second",
    ]

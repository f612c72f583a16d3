"""Events as trees, also those of operators that the printer does not know."""

from __future__ import annotations

import pytest

from tidings.lang.sql import statement as sql
from tidings.lang.sql.statements.event import At, Event, SignalEvent, TableEvent, walk
from tidings.rules.explain.event_tree import event_tree, label, simple_events


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


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("ANY 2 OF (SIGNAL a, SIGNAL b) WITHIN INTERVAL 1 DAY", "ANY 2 OF within 1 day"),
        ("3 OF SIGNAL a AS x WITHIN INTERVAL 1 DAY", "3 OF within 1 day"),
        ("NOT SIGNAL b BETWEEN SIGNAL a AND SIGNAL c", "BETWEEN the first and the second NOT the third"),
        ("ALL SIGNAL b BETWEEN SIGNAL a AND SIGNAL c", "BETWEEN the first and the second ALL of the third"),
        (
            "EVERY INTERVAL 1 DAY AS d BETWEEN SIGNAL a AND SIGNAL c",
            "BETWEEN the first and the second EACH EVERY 1 day AS d",
        ),
        ("SIGNAL a PLUS INTERVAL 1 DAY", "PLUS 1 day"),
        ("EVERY '0 9 * * *'", "EVERY '0 9 * * *'"),
    ],
)
def test_each_operator_has_its_words(text: str, first: str) -> None:
    parsed = event(text)
    lines = event_tree(parsed).splitlines()
    assert lines[0] == first
    assert len(lines) == len(list(walk(parsed)))

"""The event of a rule as a tree: a line per operator and simple event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidings.lang.sql.statements.event import (
    Absent,
    And,
    AnyOf,
    At,
    Between,
    Cron,
    Event,
    Every,
    Or,
    Plus,
    SignalEvent,
    TableEvent,
    Then,
    Ticks,
    Times,
    name_of,
    parts,
    walk,
)
from tidings.rules.explain.time_text import instant_text, interval_text


def event_tree(event: Event) -> str:
    """An event as a tree.

    >>> from tidings.lang.sql.statements.event import Then
    >>> print(event_tree(Then((SignalEvent("e"), TableEvent("insert", "t", name="i")), 60_000_000)))
    THEN within 1 minute
    ├── SIGNAL e
    └── INSERT INTO t AS i
    """
    return "\n".join([label(event), *_below(event, "")])


def simple_events(event: Event) -> Iterator[Event]:
    """The simple events that an event is made of, and the ticks between others."""
    return (part for part in walk(event) if not parts(part) or isinstance(part, Ticks | Plus))


def label(event: Event) -> str:
    """An event in one line, without its parts.

    >>> label(TableEvent("update", "t", ("a", "b"))), label(Every(3_600_000_000))
    ('UPDATE OF t(a, b)', 'EVERY 1 hour')
    """
    name = name_of(event)
    return _words(event) if name is None else f"{_words(event)} AS {name}"


def _words(event: Event) -> str:
    match event:
        case TableEvent(kind=kind, table=table, columns=columns):
            words = {"insert": "INSERT INTO", "delete": "DELETE FROM", "update": "UPDATE OF"}[kind]
            return f"{words} {table}{'(' + ', '.join(columns) + ')' if columns else ''}"
        case SignalEvent(event=signal):
            return f"SIGNAL {signal}"
        case Every(interval=interval):
            return f"EVERY {interval_text(interval)}"
        case Cron(text=text):
            return f"EVERY '{text}'"
        case At(instant=instant):
            return f"AT {instant_text(instant)}"
        case Or():
            return "OR"
        case And(within=within):
            return f"AND{_within(within)}"
        case Then(within=within):
            return f"THEN{_within(within)}"
        case AnyOf(count=count, within=within):
            return f"ANY {count} OF{_within(within)}"
        case Times(count=count, within=within):
            return f"{count} OF{_within(within)}"
        case Absent(within=within):
            return f"BETWEEN the first and the second NOT the third{_within(within)}"
        case Between(at_end=at_end):
            return f"BETWEEN the first and the second {'ALL' if at_end else 'EACH'} of the third"
        case Ticks(interval=interval, at_end=at_end):
            return f"BETWEEN the first and the second {'ALL' if at_end else 'EACH'} EVERY {interval_text(interval)}"
        case Plus(interval=interval):
            return f"PLUS {interval_text(interval)}"
        case _:
            assert_never(event)


def _within(within: int | None) -> str:
    return "" if within is None else f" within {interval_text(within)}"


def _below(event: Event, prefix: str) -> list[str]:
    inputs, lines = parts(event), list[str]()
    for place, part in enumerate(inputs):
        last = place == len(inputs) - 1
        lines.append(f"{prefix}{'└── ' if last else '├── '}{label(part)}")
        lines += _below(part, prefix + ("    " if last else "│   "))
    return lines

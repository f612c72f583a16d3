"""The event of a rule as a tree: a line per operator and simple event.

Operators are drawn from their fields alone: those that are events, or several of them, stand below; others are said
beside the name.  So a new operator needs no code here.  A simple event that is not written as its name and its fields
is given its own words in :func:`label`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import cast

from tidings.errors import Place
from tidings.lang.sql.statements.event import At, Event, Every, SignalEvent, TableEvent
from tidings.rules.explain.time_text import instant_text, interval_text

_INTERVALS = frozenset({"within", "interval", "after", "delay"})
"""Fields that are microseconds."""


def event_tree(event: Event) -> str:
    """An event as a tree.

    >>> from tidings.lang.sql.statements.event import Then
    >>> print(event_tree(Then((SignalEvent("e"), TableEvent("insert", "t")), 60_000_000)))
    THEN within 1 minute
    ├── SIGNAL e
    └── INSERT INTO t
    """
    return "\n".join([label(event), *_below(event, "")])


def simple_events(event: Event) -> Iterator[Event]:
    """The simple events that an event is made of, from left to right."""
    parts = _parts(event)
    if not parts:
        yield event
    for part in parts:
        yield from simple_events(part)


def label(event: Event) -> str:
    """An event in one line, without its parts.

    >>> label(TableEvent("update", "t", ("a", "b"))), label(Every(3_600_000_000))
    ('UPDATE OF t(a, b)', 'EVERY 1 hour')
    """
    match event:
        case TableEvent(kind=kind, table=table, columns=columns):
            words = {"insert": "INSERT INTO", "delete": "DELETE FROM", "update": "UPDATE OF"}[kind]
            return f"{words} {table}{'(' + ', '.join(columns) + ')' if columns else ''}"
        case SignalEvent(name=name):
            return f"SIGNAL {name}"
        case Every(interval=interval):
            return f"EVERY {interval_text(interval)}"
        case At(instant=instant):
            return f"AT {instant_text(instant)}"
        case _:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).upper()
            return " ".join([words, *_said(event)])


def _said(event: Event) -> Iterator[str]:
    """The fields of an event that are neither events nor places, and are given."""
    for name, value in _fields(event):
        if value is None or value is False or isinstance(value, Place) or _events(value):
            continue
        shown = interval_text(value) if name in _INTERVALS and isinstance(value, int) else value
        yield name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {shown}"


def _below(event: Event, prefix: str) -> list[str]:
    parts, lines = _parts(event), list[str]()
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        lines.append(f"{prefix}{'└── ' if last else '├── '}{label(part)}")
        lines += _below(part, prefix + ("    " if last else "│   "))
    return lines


def _parts(event: Event) -> list[Event]:
    return [part for _, value in _fields(event) for part in _events(value)]


def _fields(event: Event) -> list[tuple[str, object]]:
    return [(field.name, getattr(event, field.name)) for field in fields(event)]


def _events(value: object) -> list[Event]:
    """The events that the value of a field is, or is made of."""
    values = value if isinstance(value, tuple | list) else (value,)
    return [cast(Event, v) for v in values if is_dataclass(v) and not isinstance(v, Place)]

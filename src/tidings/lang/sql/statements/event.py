"""Events: what a rule waits for, after ``ON``.

Simple events:

    INSERT INTO t | DELETE FROM t | UPDATE OF t [(columns)] | SIGNAL e
    EVERY INTERVAL … | EVERY 'cron text' | AT TIMESTAMP '…'

A simple event may be named, ``SIGNAL e AS x``, so that the condition can read its rows.  Events are composed, with
``OR`` binding least and ``THEN`` closest:

    a OR b | a AND b | a THEN b | ANY 2 OF (a, b, c) | 5 OF a | NOT b BETWEEN a AND c
    EACH b BETWEEN a AND c | ALL b BETWEEN a AND c
    EVERY INTERVAL … BETWEEN a AND c | ALL EVERY INTERVAL … BETWEEN a AND c | a PLUS INTERVAL …

``WITHIN INTERVAL …`` after an ``AND``, ``THEN``, ``OF`` or ``NOT`` says how long it may take from the first part to the
last; without it the parts of the first three happen in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from croniter import croniter

from tidings.clock import micros
from tidings.errors import Place
from tidings.lang.sql.statements.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class TableEvent:
    """Rows of a table or view come, go or change; ``columns`` are those of an update that count, all if none."""

    kind: Literal["insert", "delete", "update"]
    table: str
    columns: tuple[str, ...] = ()
    place: Place | None = None
    name: str | None = None
    """What the condition calls its rows."""


@dataclass(frozen=True, slots=True)
class SignalEvent:
    """An event that somebody signals."""

    event: str
    place: Place | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Every:
    """The ends of intervals, counted from the epoch, in microseconds."""

    interval: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Cron:
    """The instants that a cron text says, in UTC."""

    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class At:
    """One instant, in microseconds."""

    instant: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Or:
    """One of several happens."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class And:
    """All of several happen, in any order; within so many microseconds, or else in one transaction."""

    parts: tuple[Event, ...]
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Then:
    """Several happen one after the other; within so many microseconds, or else in one transaction."""

    parts: tuple[Event, ...]
    within: int | None = None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """So many of several different events happen, in any order."""

    count: int
    parts: tuple[Event, ...]
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """One event happens so many times, within so many microseconds."""

    count: int
    part: Event
    within: int


@dataclass(frozen=True, slots=True)
class Absent:
    """One event happens, then another, and a third one does not happen in between."""

    absent: Event
    begin: Event
    end: Event
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Between:
    """An event happens between two others: each time, or with ``at_end`` all of it together when the second does."""

    part: Event
    begin: Event
    end: Event
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Ticks:
    """An interval passes again and again between two events, counted from the first."""

    interval: int
    begin: Event
    end: Event
    at_end: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Plus:
    """So many microseconds have passed since an event."""

    part: Event
    interval: int


SimpleEvent: TypeAlias = TableEvent | SignalEvent | Every | Cron | At
"""Events that are not composed."""

Event: TypeAlias = SimpleEvent | Or | And | Then | AnyOf | Times | Absent | Between | Ticks | Plus


def parts(event: Event) -> tuple[Event, ...]:
    """The events that an event is composed of; none if it is simple."""
    match event:
        case Or() | And() | Then() | AnyOf():
            return event.parts
        case Times() | Plus():
            return (event.part,)
        case Absent():
            return event.begin, event.end, event.absent
        case Between():
            return event.begin, event.end, event.part
        case Ticks():
            return event.begin, event.end
        case _:
            return ()


def walk(event: Event) -> Iterator[Event]:
    """An event and all that it is composed of."""
    yield event
    for part in parts(event):
        yield from walk(part)


def name_of(event: Event) -> str | None:
    """What a condition calls the rows of an event, if it is simple and has a name."""
    match event:
        case TableEvent() | SignalEvent() | Every() | Cron() | At() | Ticks():
            return event.name
        case _:
            return None


def read_event(reader: TokenReader) -> Event:
    """The events up to where a rule goes on."""
    parts = [_and(reader)]
    while reader.accept("OR"):
        parts.append(_and(reader))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _and(reader: TokenReader) -> Event:
    parts = [_then(reader)]
    while reader.accept("AND"):
        parts.append(_then(reader))
    return parts[0] if len(parts) == 1 else And(tuple(parts), _within(reader))


def _then(reader: TokenReader) -> Event:
    parts = [_plus(reader)]
    while reader.accept("THEN"):
        parts.append(_plus(reader))
    return parts[0] if len(parts) == 1 else Then(tuple(parts), _within(reader))


def _plus(reader: TokenReader) -> Event:
    event = _one(reader)
    while reader.accept("PLUS"):
        event = Plus(event, _some(reader))
    return event


def _within(reader: TokenReader) -> int | None:
    return reader.interval() if reader.accept("WITHIN") else None


def _some(reader: TokenReader) -> int:
    """An interval that is longer than nothing."""
    at = reader.at
    interval = reader.interval()
    if not interval:
        reader.at = at
        reader.refuse("an interval longer than nothing is expected here")
    return interval


def _one(reader: TokenReader) -> Event:
    if reader.accept("("):
        event = read_event(reader)
        reader.expect(")")
        return event
    if reader.accept("NOT"):
        absent = _plus(reader)
        return Absent(absent, *_between(reader), _within(reader))
    if reader.accept("EACH"):
        part = _plus(reader)
        return Between(part, *_between(reader))
    if reader.accept("ALL"):
        if reader.word() == "EVERY":
            return _every(reader, at_end=True)
        part = _plus(reader)
        return Between(part, *_between(reader), at_end=True)
    if reader.accept("ANY"):
        return _any_of(reader)
    if reader.word().isdigit():
        return _times(reader)
    if reader.word() == "EVERY":
        return _every(reader, at_end=False)
    return _simple(reader)


def _between(reader: TokenReader) -> tuple[Event, Event]:
    reader.expect("BETWEEN")
    begin = _plus(reader)
    reader.expect("AND")
    return begin, _plus(reader)


def _any_of(reader: TokenReader) -> AnyOf:
    at = reader.at
    count, listed = _count(reader), list[Event]()
    reader.expect("(")
    while not reader.accept(")"):
        if listed:
            reader.expect(",")
        listed.append(read_event(reader))
    if count > len(listed):
        reader.at = at
        reader.refuse(f"there are {len(listed)} events only")
    return AnyOf(count, tuple(listed), _within(reader))


def _times(reader: TokenReader) -> Times:
    count, part = _count(reader), _plus(reader)
    reader.expect("WITHIN")
    return Times(count, part, _some(reader))


def _count(reader: TokenReader) -> int:
    count = reader.word()
    if not count.isdigit() or int(count) < 1:
        reader.refuse("a number is expected here, 1 at least")
    reader.at += 1
    reader.expect("OF")
    return int(count)


def _every(reader: TokenReader, *, at_end: bool) -> Event:
    reader.expect("EVERY")
    if reader.word() != "INTERVAL":
        if at_end:
            reader.refuse("INTERVAL is expected here")
        text = reader.string("an interval, or a cron text")
        if not croniter.is_valid(text):
            reader.at -= 1
            reader.refuse(f"{text!r} is no cron text", "minute, hour, day, month and weekday, as in '0 9 * * 1-5'")
        return Cron(text, _name(reader))
    interval, name = _some(reader), _name(reader)
    if at_end or reader.word() == "BETWEEN":
        return Ticks(interval, *_between(reader), at_end=at_end, name=name)
    return Every(interval, name)


def _name(reader: TokenReader) -> str | None:
    return reader.name("a name for the rows of the event") if reader.accept("AS") else None


def _simple(reader: TokenReader) -> SimpleEvent:
    at = reader.place()
    if reader.accept("INSERT", "INTO"):
        return TableEvent("insert", reader.relation("a table"), place=at, name=_name(reader))
    if reader.accept("DELETE", "FROM"):
        return TableEvent("delete", reader.relation("a table"), place=at, name=_name(reader))
    if reader.accept("UPDATE", "OF"):
        table, columns = reader.relation("a table"), []
        if reader.accept("("):
            columns.append(reader.name("a column"))
            while reader.accept(","):
                columns.append(reader.name("a column"))
            reader.expect(")")
        return TableEvent("update", table, tuple(columns), at, _name(reader))
    if reader.accept("SIGNAL"):
        return SignalEvent(reader.name("an event"), at, _name(reader))
    if reader.accept("AT"):
        reader.accept("TIMESTAMP")
        try:
            instant = micros(datetime.fromisoformat(reader.string("an instant")))
        except ValueError:
            reader.at -= 1
            reader.refuse("an instant such as '2026-01-31 12:00:00' is expected here")
        return At(instant, _name(reader))
    return reader.refuse("an event is expected here", "INSERT INTO, DELETE FROM, UPDATE OF, SIGNAL, EVERY or AT")

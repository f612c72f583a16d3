"""Events: what a rule waits for, after ``ON``.

    INSERT INTO t | DELETE FROM t | UPDATE OF t [(columns)] | SIGNAL e | EVERY INTERVAL … | AT TIMESTAMP '…'

They are combined by ``OR``, ``AND`` and ``THEN``; ``THEN`` binds closest.  The parts of an ``AND`` or ``THEN`` happen
in one transaction, or with ``WITHIN INTERVAL …`` in several that are no further apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from tidings.clock import micros
from tidings.errors import Place
from tidings.lang.sql.statements.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class TableEvent:
    """Rows of a table come, go or change; ``columns`` are those of an update that count, all if there are none."""

    kind: Literal["insert", "delete", "update"]
    table: str
    columns: tuple[str, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class SignalEvent:
    """An event that somebody signals."""

    name: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Every:
    """The ends of intervals, counted from the epoch, in microseconds."""

    interval: int


@dataclass(frozen=True, slots=True)
class At:
    """One instant, in microseconds."""

    instant: int


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


Event: TypeAlias = TableEvent | SignalEvent | Every | At | Or | And | Then


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
    parts = [_one(reader)]
    while reader.accept("THEN"):
        parts.append(_one(reader))
    return parts[0] if len(parts) == 1 else Then(tuple(parts), _within(reader))


def _within(reader: TokenReader) -> int | None:
    return reader.interval() if reader.accept("WITHIN") else None


def _one(reader: TokenReader) -> Event:
    at = reader.place()
    if reader.accept("("):
        event = read_event(reader)
        reader.expect(")")
        return event
    if reader.accept("INSERT", "INTO"):
        return TableEvent("insert", reader.name("a table"), place=at)
    if reader.accept("DELETE", "FROM"):
        return TableEvent("delete", reader.name("a table"), place=at)
    if reader.accept("UPDATE", "OF"):
        table, columns = reader.name("a table"), []
        if reader.accept("("):
            columns.append(reader.name("a column"))
            while reader.accept(","):
                columns.append(reader.name("a column"))
            reader.expect(")")
        return TableEvent("update", table, tuple(columns), at)
    if reader.accept("SIGNAL"):
        return SignalEvent(reader.name("an event"), at)
    if reader.accept("EVERY"):
        return Every(reader.interval())
    if reader.accept("AT"):
        reader.accept("TIMESTAMP")
        at = reader.place()
        try:
            return At(micros(datetime.fromisoformat(reader.string("an instant"))))
        except ValueError:
            reader.at -= 1
            reader.refuse("an instant such as '2026-01-31 12:00:00' is expected here")
    return reader.refuse("an event is expected here", "INSERT INTO, DELETE FROM, UPDATE OF, SIGNAL, EVERY or AT")

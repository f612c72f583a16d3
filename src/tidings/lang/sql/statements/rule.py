"""Rules and events in SQL: what ``CREATE RULE`` and its kin say.

The clauses of a rule are found by its words at the outermost level; the query and the action among them are read like
any other query and statement.  The catalog stores a rule by its text, which is read anew when the database is opened.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.statements.action import Action, ReadChange, read_action
from tidings.lang.sql.statements.dml import Insert
from tidings.lang.sql.statements.event import Event, SignalEvent, read_event
from tidings.lang.sql.statements.rule_options import Options, default_options, read_options
from tidings.lang.sql.statements.token_reader import TokenReader

HAPPENED = "happened"
"""The column of an event that is declared without any."""

HOLDS = "holds"
"""The column of the one row that a condition has which is no query, where it is true."""

When: TypeAlias = Literal["begins", "gone", "changed"]


@dataclass(frozen=True, slots=True)
class CreateRule:
    """``CREATE [OR REPLACE] RULE name [(parameters)] [ON events] [WHEN query] DO action [WITH (options)]``."""

    name: str
    parameters: tuple[Column, ...]
    event: Event | None
    when: When
    query: Expression
    action: Action
    options: Options
    text: str
    definition: str
    place: Place | None
    replace: bool = False
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class DropRule:
    """``DROP RULE [IF EXISTS] name``."""

    name: str
    if_exists: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class SwitchRule:
    """``ENABLE RULE name``, ``DISABLE RULE name``, or the same of all rules of a ``GROUP``."""

    name: str
    on: bool
    group: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class ActivateRule:
    """``ACTIVATE RULE name(values)``, and ``DEACTIVATE``."""

    name: str
    values: tuple[Expression, ...]
    on: bool
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """``CREATE EVENT [IF NOT EXISTS] name [(columns)]``."""

    name: str
    columns: tuple[Column, ...]
    if_absent: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class DropEvent:
    """``DROP EVENT [IF EXISTS] name``."""

    name: str
    if_exists: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class Signal:
    """``SIGNAL event VALUES …`` or ``SIGNAL event query``."""

    event: str
    insert: Insert


RuleStatement: TypeAlias = CreateRule | DropRule | SwitchRule | ActivateRule | CreateEvent | DropEvent | Signal


def is_rule_statement(reader: TokenReader) -> bool:
    """Whether a statement is one of those read here."""
    replaced = 2 if (reader.word(1), reader.word(2)) == ("OR", "REPLACE") else 0
    match reader.word():
        case "CREATE":
            return reader.word(1 + replaced) in ("RULE", "EVENT")
        case "DROP":
            return reader.word(1) in ("RULE", "EVENT")
        case "ENABLE" | "DISABLE" | "ACTIVATE" | "DEACTIVATE":
            return reader.word(1) in ("RULE", "GROUP")
        case word:
            return word == "SIGNAL"


def read_rule_statement(reader: TokenReader, change: ReadChange) -> RuleStatement:
    """One of the statements about rules and events."""
    word = reader.word()
    reader.at += 1
    match word:
        case "CREATE":
            replace = reader.accept("OR", "REPLACE")
            if reader.accept("EVENT"):
                if replace:
                    reader.refuse("an event is dropped and made anew, not replaced")
                return _create_event(reader)
            return _create_rule(reader, change, replace)
        case "DROP":
            statement = DropRule if reader.word() == "RULE" else DropEvent
            reader.at += 1
            if_exists, at = reader.accept("IF", "EXISTS"), reader.place()
            name = reader.name("a name")
            reader.require_end()
            return statement(name, if_exists, at)
        case "ENABLE" | "DISABLE":
            group = reader.accept("GROUP")
            if not group:
                reader.expect("RULE")
            at, name = reader.place(), reader.name("a name")
            reader.require_end()
            return SwitchRule(name, word == "ENABLE", group, at)
        case "SIGNAL":
            return _signal(reader)
        case _:
            reader.expect("RULE")
            at, name = reader.place(), reader.name("a rule")
            values = reader.expressions() if reader.word() == "(" else []
            reader.require_end()
            return ActivateRule(name, tuple(values), word == "ACTIVATE", reader.text, at)


def _create_event(reader: TokenReader) -> CreateEvent:
    if_absent = reader.accept("IF", "NOT", "EXISTS")
    at, name = reader.place(), reader.name("the name of the event")
    columns = reader.columns() if reader.word() == "(" else ()
    reader.require_end()
    columns = columns or (Column(HAPPENED, "boolean"),)
    return CreateEvent(name, columns, if_absent, at)


def _signal(reader: TokenReader) -> Signal:
    at, name = reader.place(), reader.name("an event")
    part = reader.until()
    if part[0] == part[1]:
        return Signal(name, Insert(name, (HAPPENED,), exp.select(exp.true()), reader.text, at, name))
    query = reader.parsed(part, "VALUES or a query")
    if not isinstance(query, exp.Query | exp.Values):
        raise InvalidSyntax(at, reason="SIGNAL needs VALUES or a query")
    return Signal(name, Insert(name, (), query, reader.text, at, name))


def _no_condition(event: Event | None) -> Expression:
    """What a rule without a condition fires for when its event happens: the rows of a signal, or one row."""
    if isinstance(event, SignalEvent):
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(event.event, quoted=True)))
    return exp.select(exp.true().as_(HOLDS))


def _condition(reader: TokenReader) -> tuple[When, Expression]:
    """What stands after ``WHEN``."""
    reader.expect("WHEN")
    when: When = "gone" if reader.accept("GONE") else "changed" if reader.accept("CHANGED") else "begins"
    part = reader.until("DO")
    condition = reader.parsed(part, "a query")
    if isinstance(condition, exp.Query):
        return when, condition
    if not isinstance(condition, exp.Condition):
        reason = "a condition is a query, or something that is true or false"
        raise InvalidSyntax(Place(reader.text, *part), reason=reason)
    return when, exp.select(exp.true().as_(HOLDS)).where(condition, copy=False)


def _create_rule(reader: TokenReader, change: ReadChange, replace: bool) -> CreateRule:
    reader.expect("RULE")
    first = reader.tokens[0].start
    if_absent = reader.accept("IF", "NOT", "EXISTS")
    at, name = reader.place(), reader.name("the name of the rule")
    parameters = reader.columns() if reader.word() == "(" else ()
    event = read_event(reader) if reader.accept("ON") else None
    has_condition = event is None or reader.word() != "DO"
    when, query = _condition(reader) if has_condition else ("begins", _no_condition(event))
    reader.expect("DO")
    action = read_action(reader, change)
    options = read_options(reader, action) if reader.accept("WITH") else default_options(action)
    if not has_condition:
        options = dataclasses.replace(options, when="state")
    reader.require_end()
    definition = reader.text[first : reader.end]
    return CreateRule(
        name, parameters, event, when, query, action, options, reader.text, definition, at, replace, if_absent
    )

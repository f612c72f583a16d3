"""Statements about continuous queries:

CREATE [OR REPLACE] CONTINUOUS QUERY [IF NOT EXISTS] name AS query [WITH (options)]
DROP CONTINUOUS QUERY [IF EXISTS] name
REFRESH CONTINUOUS QUERY name

The options say when it runs, ``every = INTERVAL …``, ``every = 'cron text'``, ``on = 'commit'`` or ``on = 'manual'``,
from when on answers count, ``since = 'beginning'``, ``'now'`` or an instant, and how what matches is found,
``method = 'auto'``, ``'changes'`` or ``'rewriting'``.  The catalog stores a query by the text of the statement.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from croniter import croniter
from sqlglot import exp

from tidings.clock import micros
from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.statements.token_reader import TokenReader

MATCHED_AT = "matched_at"
"""The column of the answers that says when a row first matched."""

Beginning: TypeAlias = Literal["beginning", "now"] | int
"""From when on answers count: all that is retained, from the creation on, or from an instant on."""


Method: TypeAlias = Literal["auto", "changes", "rewriting"]
"""How what matches is found: by the changes of the query at every instant, by its rewriting where that is true, or by
the cheaper of both."""


@dataclass(frozen=True, slots=True)
class OnCommit:
    """It runs whenever something was committed that it reads, and when time passes if it reads the clock."""


@dataclass(frozen=True, slots=True)
class OnRequest:
    """It runs when it is asked to."""


@dataclass(frozen=True, slots=True)
class EveryInterval:
    """It runs at the multiples of an interval, in microseconds since the epoch."""

    interval: int


@dataclass(frozen=True, slots=True)
class EveryTick:
    """It runs at the instants of a cron text, in UTC."""

    cron: str


Schedule: TypeAlias = OnCommit | OnRequest | EveryInterval | EveryTick


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What stands after ``WITH``."""

    schedule: Schedule = OnCommit()
    since: Beginning = "beginning"
    method: Method = "auto"


@dataclass(frozen=True, slots=True)
class CreateContinuousQuery:
    """``CREATE CONTINUOUS QUERY name AS query``."""

    name: str
    query: Expression
    options: QueryOptions
    text: str
    query_text: str
    definition: str
    place: Place
    replace: bool = False
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class DropContinuousQuery:
    """``DROP CONTINUOUS QUERY name``."""

    name: str
    if_exists: bool
    place: Place


@dataclass(frozen=True, slots=True)
class RefreshContinuousQuery:
    """``REFRESH CONTINUOUS QUERY name``: it runs now, whatever its schedule says."""

    name: str
    place: Place


ContinuousStatement: TypeAlias = CreateContinuousQuery | DropContinuousQuery | RefreshContinuousQuery


def is_continuous_statement(reader: TokenReader) -> bool:
    """Whether a statement is one of those read here."""
    replaced = 2 if (reader.word(1), reader.word(2)) == ("OR", "REPLACE") else 0
    if reader.word() not in ("CREATE", "DROP", "REFRESH"):
        return False
    return (reader.word(1 + replaced), reader.word(2 + replaced)) == ("CONTINUOUS", "QUERY")


def read_continuous_statement(reader: TokenReader) -> ContinuousStatement:
    """One of the statements about continuous queries."""
    word = reader.word()
    reader.at += 1
    replace = reader.accept("OR", "REPLACE")
    reader.expect("CONTINUOUS", "QUERY")
    if word == "CREATE":
        return _create(reader, replace)
    if_exists = word == "DROP" and reader.accept("IF", "EXISTS")
    at, name = reader.place(), reader.name("a continuous query")
    reader.require_end()
    return DropContinuousQuery(name, if_exists, at) if word == "DROP" else RefreshContinuousQuery(name, at)


def _create(reader: TokenReader, replace: bool) -> CreateContinuousQuery:
    if_absent = reader.accept("IF", "NOT", "EXISTS")
    at, name = reader.place(), reader.name("the name of the continuous query")
    if replace and if_absent:
        raise InvalidSyntax(at, reason="OR REPLACE and IF NOT EXISTS exclude each other")
    reader.expect("AS")
    part = reader.until("WITH", before="(")
    query = reader.parsed(part, "a query")
    if not isinstance(query, exp.Query):
        raise InvalidSyntax(Place(reader.text, *part), reason="a continuous query needs AS and a query")
    options = _options(reader) if reader.accept("WITH") else QueryOptions()
    reader.require_end()
    text, definition = reader.text, reader.text[reader.tokens[0].start : reader.end]
    query_text = text[slice(*part)]
    return CreateContinuousQuery(
        name, query, options, text, query_text, definition, at, replace=replace, if_absent=if_absent
    )


def _options(reader: TokenReader) -> QueryOptions:
    options = QueryOptions()
    given: set[str] = set()
    reader.expect("(")
    while not reader.accept(")"):
        if given:
            reader.expect(",")
        at, name = reader.place(), reader.name("an option").lower()
        if name in given:
            raise InvalidSyntax(at, reason=f"the option {name} is given twice")
        given.add(name)
        reader.expect("=")
        match name:
            case "every" | "on" if {"every", "on"} <= given:
                raise InvalidSyntax(at, reason="every and on exclude each other")
            case "every":
                options = dataclasses.replace(options, schedule=_every(reader))
            case "on":
                options = dataclasses.replace(options, schedule=_on(reader))
            case "since":
                options = dataclasses.replace(options, since=_since(reader))
            case "method":
                options = dataclasses.replace(options, method=_method(reader))
            case _:
                raise InvalidSyntax(at, "known: every, on, since, method", reason=f"there is no option {name}")
    return options


def _every(reader: TokenReader) -> Schedule:
    if reader.word() == "INTERVAL":
        return EveryInterval(reader.interval())
    at, cron = reader.place(), reader.string("an interval, or a cron text")
    if not croniter.is_valid(cron):
        hint = "minute, hour, day, month and weekday, as in '0 9 * * 1-5'"
        raise InvalidSyntax(at, hint, reason=f"{cron!r} is no cron text")
    return EveryTick(cron)


def _on(reader: TokenReader) -> Schedule:
    at, value = reader.place(), reader.string("commit or manual").lower()
    if value not in ("commit", "manual"):
        raise InvalidSyntax(at, "it is one of: commit, manual", reason=f"no on is {value}")
    return OnCommit() if value == "commit" else OnRequest()


def _method(reader: TokenReader) -> Method:
    at, value = reader.place(), reader.string("auto, changes or rewriting").lower()
    methods: dict[str, Method] = {"auto": "auto", "changes": "changes", "rewriting": "rewriting"}
    if value not in methods:
        raise InvalidSyntax(at, f"it is one of: {', '.join(methods)}", reason=f"no method is {value}")
    return methods[value]


def _since(reader: TokenReader) -> Beginning:
    reader.accept("TIMESTAMP")
    at, value = reader.place(), reader.string("beginning, now or an instant")
    match value.lower():
        case "beginning":
            return "beginning"
        case "now":
            return "now"
    try:
        return micros(datetime.fromisoformat(value))
    except ValueError:
        hint = "it is 'beginning', 'now', or an instant as in '2026-01-31 08:00:00'"
        raise InvalidSyntax(at, hint, reason=f"{value!r} is no instant") from None

"""Rules and events in SQL: what ``CREATE RULE`` and its kin say.

The clauses of a rule are found by its words at the outermost level; the query and the action among them are read like
any other query and statement.  A rule is kept by its text, and read again when the database is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.statements.dml import Insert, RowStatement
from tidings.lang.sql.statements.event import Event, read_event
from tidings.lang.sql.statements.token_reader import TokenReader

When: TypeAlias = Literal["begins", "gone", "changed"]
Coupling: TypeAlias = Literal["immediate", "deferred", "detached", "detached independent"]


@dataclass(frozen=True, slots=True)
class Call:
    """``CALL procedure(arguments)``."""

    procedure: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Modify:
    """SQL over the condition's rows, which are called ``condition``."""

    change: RowStatement


@dataclass(frozen=True, slots=True)
class Send:
    """``NOTIFY 'channel'``, ``WEBHOOK 'url'``, ``FILE 'path'`` or ``MAIL 'address'``."""

    channel: Literal["notify", "webhook", "file", "mail"]
    target: str


@dataclass(frozen=True, slots=True)
class Raise:
    """``RAISE 'message'``: the transaction is refused."""

    message: str


Action: TypeAlias = Call | Modify | Send | Raise


@dataclass(frozen=True, slots=True)
class Gather:
    """``group_by``, ``group_wait`` and ``group_interval``: instances that are told together, in one message."""

    by: tuple[str, ...]
    """The columns whose values say which group a row is of; with none all rows are one."""
    wait: int
    """How many microseconds the first message of a group waits for more."""
    interval: int
    """How far messages of a group are apart, at least."""


@dataclass(frozen=True, slots=True)
class Options:
    """What stands after ``WITH``."""

    priority: int = 0
    nervous: bool = False
    condition: Coupling = "deferred"
    action: Coupling = "detached"
    initial: bool = False
    enabled: bool = True
    group: str | None = None
    effective: str | None = None
    expires: str | None = None
    hold: int = 0
    """For how many microseconds an instance has to hold before it fires: ``for = INTERVAL …``."""
    key: tuple[str, ...] = ()
    """The columns that say which instance a row is; all of them if there are none."""
    keep_alive: int = 0
    """For how many microseconds an instance may be away without being gone."""
    resolved: bool = False
    """Whether it is also told that instances are gone."""
    gather: Gather | None = None
    """How what is sent is gathered, if it is."""


@dataclass(frozen=True, slots=True)
class CreateRule:
    """``CREATE [OR REPLACE] RULE name [(parameters)] [ON events] WHEN query DO action [WITH (options)]``."""

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
    """``CREATE EVENT [IF NOT EXISTS] name (columns)``."""

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

ReadChange = Callable[[Expression, str], RowStatement | None]
"""A statement that changes rows, from its tree; None for others."""


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
            made = DropRule if reader.word() == "RULE" else DropEvent
            reader.at += 1
            if_exists, at = reader.accept("IF", "EXISTS"), reader.place()
            name = reader.name("a name")
            reader.require_end()
            return made(name, if_exists, at)
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
    columns = reader.columns()
    if not columns:
        raise InvalidSyntax(at, reason="an event needs a column at least")
    reader.require_end()
    return CreateEvent(name, columns, if_absent, at)


def _signal(reader: TokenReader) -> Signal:
    at, name = reader.place(), reader.name("an event")
    stretch = reader.until()
    query = reader.parsed(stretch, "VALUES or a query") if stretch[0] < stretch[1] else None
    if not isinstance(query, exp.Query | exp.Values):
        raise InvalidSyntax(at, reason="SIGNAL needs VALUES or a query")
    return Signal(name, Insert(name, (), query, reader.text, at))


def _create_rule(reader: TokenReader, change: ReadChange, replace: bool) -> CreateRule:
    reader.expect("RULE")
    first = reader.tokens[0].start
    if_absent = reader.accept("IF", "NOT", "EXISTS")
    at, name = reader.place(), reader.name("the name of the rule")
    parameters = reader.columns() if reader.word() == "(" else ()
    event = read_event(reader) if reader.accept("ON") else None
    reader.expect("WHEN")
    when: When = "gone" if reader.accept("GONE") else "changed" if reader.accept("CHANGED") else "begins"
    stretch = reader.until("DO")
    query = reader.parsed(stretch, "a query")
    if not isinstance(query, exp.Query):
        raise InvalidSyntax(Place(reader.text, *stretch), reason="a condition is a query")
    reader.expect("DO")
    action = _action(reader, change)
    options = _options(reader, action) if reader.accept("WITH") else _coupled(Options(), {}, action)
    reader.require_end()
    definition = reader.text[first : reader.end]
    return CreateRule(
        name, parameters, event, when, query, action, options, reader.text, definition, at, replace, if_absent
    )


def _action(reader: TokenReader, change: ReadChange) -> Action:
    at = reader.place()
    match reader.word():
        case "CALL":
            reader.at += 1
            name = reader.name("a procedure")
            return Call(name, tuple(reader.expressions()))
        case "NOTIFY" | "WEBHOOK" | "FILE" | "MAIL" as word:
            reader.at += 1
            channel = _CHANNELS[word]
            return Send(channel, reader.string("where to send it"))
        case "RAISE":
            reader.at += 1
            return Raise(reader.string("a message"))
        case _:
            stretch = reader.until("WITH", before="(")
            found = change(reader.parsed(stretch, "an action"), reader.text) if stretch[0] < stretch[1] else None
            if found is None:
                hint = "CALL, INSERT, UPDATE, DELETE, MERGE, NOTIFY, WEBHOOK, FILE, MAIL or RAISE"
                raise InvalidSyntax(at, hint, reason="an action is expected here")
            return Modify(found)


_CHANNELS: dict[str, Literal["notify", "webhook", "file", "mail"]] = {
    "NOTIFY": "notify",
    "WEBHOOK": "webhook",
    "FILE": "file",
    "MAIL": "mail",
}

_COUPLINGS: dict[str, Coupling] = {
    "immediate": "immediate",
    "deferred": "deferred",
    "detached": "detached",
    "detached independent": "detached independent",
}


@dataclass(slots=True)
class _Given:
    """Options as they are written."""

    reader: TokenReader
    values: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def one_of(self, name: str, known: tuple[str, ...], default: str) -> str:
        found = self.values.pop(name, default).lower()
        if found not in known:
            raise InvalidSyntax(self.places[name], f"it is one of: {', '.join(known)}", reason=f"no {name} is {found}")
        return found

    def number(self, name: str) -> int:
        try:
            return int(self.values.pop(name, "0"))
        except ValueError:
            raise InvalidSyntax(self.places[name], reason=f"{name} is a whole number") from None

    def names(self, name: str) -> tuple[str, ...]:
        """Columns, several of them in parentheses."""
        return tuple(k.strip(" `'") for k in self.values.pop(name, "").strip("()").split(",") if k.strip())


_INTERVALS = ("for", "keep_alive", "group_wait", "group_interval")


def _options(reader: TokenReader, action: Action) -> Options:
    given, intervals = _Given(reader), dict[str, int]()
    reader.expect("(")
    while not reader.accept(")"):
        if given.places:
            reader.expect(",")
        at, name = reader.place(), reader.name("an option").lower()
        given.places[name] = at
        if name in _INTERVALS:
            reader.expect("=")
            intervals[name] = reader.interval()
        elif not reader.accept("="):
            given.values[name] = "true"
        else:
            start, end = reader.until(",")
            given.values[name] = reader.text[start:end].strip().strip("'\"")
    made = Options(
        priority=given.number("priority"),
        nervous=given.one_of("semantics", ("strict", "nervous"), "strict") == "nervous",
        initial=given.one_of("initial", ("true", "false"), "false") == "true",
        enabled=given.one_of("enabled", ("true", "false"), "true") == "true",
        group=given.values.pop("group", None),
        effective=given.values.pop("effective", None),
        expires=given.values.pop("expires", None),
        hold=intervals.get("for", 0),
        key=given.names("key"),
        keep_alive=intervals.get("keep_alive", 0),
        resolved=given.one_of("resolved", ("true", "false"), "false") == "true",
        gather=_gather(given, intervals),
    )
    named = [name for name in ("condition", "action") if name in given.values]
    chosen = {str(name): given.one_of(name, tuple(_COUPLINGS), "") for name in named}
    for name in given.values:
        raise InvalidSyntax(given.places[name], f"known: {', '.join(_KNOWN)}", reason=f"there is no option {name}")
    return _coupled(made, chosen, action, given.places)


def _gather(given: _Given, intervals: dict[str, int]) -> Gather | None:
    if not given.places.keys() & {"group_by", "group_wait", "group_interval"}:
        return None
    return Gather(given.names("group_by"), intervals.get("group_wait", 0), intervals.get("group_interval", 0))


_KNOWN = (
    *("priority", "semantics", "condition", "action", "key", "initial", "enabled", "group", "effective", "expires"),
    *("for", "keep_alive", "resolved", "group_by", "group_wait", "group_interval"),
)


def _coupled(
    made: Options,
    given: dict[str, str],
    action: Action,
    places: dict[str, Place] | None = None,
) -> Options:
    """Options with couplings that go together; an action is never before its condition.

    What is detached and immediate is judged after the commit, and acts at once, in the same transaction.
    """
    at = (places or {}).get("action") or (places or {}).get("condition")
    condition = _COUPLINGS[given.get("condition", "deferred")]
    usual = condition if isinstance(action, Raise) else "detached"
    coupled = _COUPLINGS[given.get("action", usual)]
    order = ("immediate", "deferred", "detached", "detached independent")
    together = (condition, coupled) == ("detached", "immediate") and isinstance(action, Call | Modify)
    if order.index(coupled) < order.index(condition) and not together:
        raise InvalidSyntax(at, reason=f"an action cannot be {coupled} when its condition is {condition}")
    if condition == "detached independent":
        raise InvalidSyntax(at, reason="a condition is immediate, deferred or detached")
    if isinstance(action, Raise) and coupled not in ("immediate", "deferred"):
        raise InvalidSyntax(at, reason="RAISE refuses a transaction, so it cannot come after it")
    if isinstance(action, Send) and coupled not in ("detached", "detached independent"):
        raise InvalidSyntax(at, reason="what is sent goes out after the transaction: the action is detached")
    return replace(made, condition=condition, action=coupled)

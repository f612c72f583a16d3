"""What a rule does: the action after ``DO``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from sqlglot.tokenizer_core import TokenType

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.statements.dml import RowStatement
from tidings.lang.sql.statements.token_reader import TokenReader
from tidings.targets import read_address, read_url


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

ReadChange = Callable[[Expression, str], RowStatement | None]
"""A statement that changes rows, from its tree; None for others."""

_CHANNELS: dict[str, Literal["notify", "webhook", "file", "mail"]] = {
    "NOTIFY": "notify",
    "WEBHOOK": "webhook",
    "FILE": "file",
    "MAIL": "mail",
}


def _target(channel: str, target: str, at: Place) -> str:
    """Where something is sent, refused if it is no URL of a webhook or no address of a mail."""
    try:
        if channel == "webhook":
            read_url(target)
        elif channel == "mail":
            read_address(target)
    except ValueError as error:
        hint = "WEBHOOK 'https://example.com/hook'" if channel == "webhook" else "MAIL 'ann@example.com'"
        raise InvalidSyntax(at, f"as in {hint}", reason=f"nothing can be sent to {target!r}: {error}") from None
    return target


def read_action(reader: TokenReader, change: ReadChange) -> Action:
    """The action after ``DO``."""
    at = reader.place()
    match reader.word():
        case "CALL":
            reader.at += 1
            name = reader.name("a procedure")
            action: Action = Call(name, tuple(reader.expressions()))
        case "NOTIFY" | "WEBHOOK" | "FILE" | "MAIL" as word:
            reader.at += 1
            at, channel = reader.place(), _CHANNELS[word]
            action = Send(channel, _target(channel, reader.string("where to send it"), at))
        case "RAISE":
            reader.at += 1
            action = Raise(reader.string("a message"))
        case _:
            first = reader.at
            start, end = reader.until("WITH", before="(")
            _check_alone(reader, first)
            statement = change(reader.parsed((start, end), "an action"), reader.text) if start < end else None
            if statement is None:
                hint = "CALL, INSERT, UPDATE, DELETE, MERGE, NOTIFY, WEBHOOK, FILE, MAIL or RAISE"
                raise InvalidSyntax(at, hint, reason="an action is expected here")
            action = Modify(statement)
    if reader.word() == ",":
        _refuse_another(reader)
    return action


def _check_alone(reader: TokenReader, first: int) -> None:
    """Refuse another action among the tokens of a statement, behind a comma: the parser may take it for a table."""
    end = reader.at
    for reader.at in range(first, end):
        if reader.word() == "," and _is_action(reader):
            _refuse_another(reader)
    reader.at = end


def _is_action(reader: TokenReader) -> bool:
    """Whether behind the next token there is an action, and not something that is called like one."""
    word, argument = reader.word(1), reader.at + 2
    if word in (*_CHANNELS, "RAISE"):
        return argument < len(reader.tokens) and reader.tokens[argument].token_type is TokenType.STRING
    return word == "CALL" and reader.word(3) == "("


def _refuse_another(reader: TokenReader) -> NoReturn:
    reader.at += 1
    reader.refuse("a rule has one action, and this is another", "make a rule for each of them")

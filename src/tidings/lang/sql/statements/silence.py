"""Silences in SQL:

SILENCE RULE name [WHERE condition] FOR INTERVAL 2 HOURS [COMMENT 'why']
SILENCE GROUP name [WHERE condition] FOR INTERVAL 2 HOURS [COMMENT 'why']
UNSILENCE RULE name
UNSILENCE GROUP name
UNSILENCE number
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import Expression
from tidings.lang.sql.statements.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class SilenceRule:
    """``SILENCE RULE``, or the same of all rules of a ``GROUP``: for a while nothing is sent.

    ``condition_text`` is the condition as written.
    """

    name: str
    group: bool
    condition: Expression | None
    condition_text: str | None
    interval: int
    comment: str | None
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class UnsilenceRule:
    """``UNSILENCE``: of all silences of a rule, or of those of a ``GROUP``."""

    name: str
    group: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class EndSilence:
    """``UNSILENCE number``: of one silence, by its number."""

    number: int
    place: Place | None


SilenceStatement: TypeAlias = SilenceRule | UnsilenceRule | EndSilence


def is_silence_statement(reader: TokenReader) -> bool:
    """Whether a statement is one of those read here."""
    return reader.word() in ("SILENCE", "UNSILENCE")


def read_silence_statement(reader: TokenReader) -> SilenceStatement:
    """One of the statements about silences."""
    if reader.accept("UNSILENCE"):
        return _unsilence(reader)
    reader.expect("SILENCE")
    name, group, at = _rule_or_group(reader)
    condition, condition_text = _condition(reader) if reader.accept("WHERE") else (None, None)
    reader.expect("FOR")
    interval = reader.interval()
    comment = reader.string("a comment") if reader.accept("COMMENT") else None
    reader.require_end()
    return SilenceRule(name, group, condition, condition_text, interval, comment, reader.text, at)


def _rule_or_group(reader: TokenReader) -> tuple[str, bool, Place]:
    """The name of a rule or a group, which of both it is, and its place."""
    group = reader.accept("GROUP")
    if not group:
        reader.expect("RULE")
    at = reader.place()
    return reader.name("a group" if group else "a rule"), group, at


def _condition(reader: TokenReader) -> tuple[Expression, str]:
    start, end = reader.until("FOR", before="INTERVAL")
    if start == end:
        reader.refuse("a condition on the columns of the rule is expected here")
    condition = reader.parsed((start, end), "a condition")
    if isinstance(condition, exp.Query | exp.Command):
        raise InvalidSyntax(Place(reader.text, start, end), reason="a silence has a condition, not a statement")
    return condition, reader.text[start:end]


def _unsilence(reader: TokenReader) -> UnsilenceRule | EndSilence:
    at = reader.place()
    if not reader.is_done and reader.tokens[reader.at].token_type is TokenType.NUMBER:
        number = reader.word()
        reader.at += 1
        reader.require_end()
        if not number.isdigit():
            raise InvalidSyntax(at, reason="a silence has a whole number")
        return EndSilence(int(number), at)
    name, group, at = _rule_or_group(reader)
    reader.require_end()
    return UnsilenceRule(name, group, at)

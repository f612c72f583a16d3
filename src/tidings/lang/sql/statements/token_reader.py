"""A reader of tokens, for statements that SQL parsers do not know.

It walks over the tokens of one statement, cuts out parts at the outermost level, and hands queries among them to
the parser.  A part is parsed in its place, with everything around it blanked out, so that whatever is found wrong in
it is shown in the user's own text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import InvalidSyntax, Place, TidingsError, UnsupportedType
from tidings.ir import types
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.names import check_names, check_reserved
from tidings.lang.sql.parse import statements
from tidings.lang.sql.schemas import without_default

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)

UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Units of intervals that are always equally long, in microseconds."""


def blanked(text: str, start: int, end: int) -> str:
    """A part of a text in its place, the rest of it blank.

    >>> blanked("a; b; c", 3, 4)
    '   b'
    """
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def parse_at(text: str, start: int, end: int) -> list[Expression]:
    """The statements in a part of a text; places refer to the whole of it."""
    try:
        return statements(blanked(text, start, end))
    except InvalidSyntax as error:
        at = error.place
        error.place = None if at is None else Place(text, at.start, at.end)
        raise


@dataclass(slots=True)
class TokenReader:
    """A place among the tokens of one statement."""

    text: str
    tokens: list[Token]
    at: int = 0

    # looking

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.tokens)

    def word(self, ahead: int = 0) -> str:
        """A token in capital letters; nothing at the end, and for quoted things."""
        if self.at + ahead >= len(self.tokens):
            return ""
        token = self.tokens[self.at + ahead]
        return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()

    @property
    def start(self) -> int:
        """Where the next token begins."""
        return self.tokens[self.at].start if not self.is_done else self.end

    @property
    def end(self) -> int:
        """Where the statement ends."""
        return self.tokens[-1].end + 1 if self.tokens else 0

    def place(self) -> Place:
        """The place of the next token."""
        if self.is_done:
            return Place(self.text, self.end, self.end)
        return Place(self.text, self.tokens[self.at].start, self.tokens[self.at].end + 1)

    def refuse(self, reason: str, hint: str | None = None) -> NoReturn:
        raise InvalidSyntax(self.place(), hint, reason=reason)

    # taking

    def accept(self, *words: str) -> bool:
        """Take some words if they come next, all of them."""
        if all(self.word(n) == word for n, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            self.refuse(f"{' '.join(words)} is expected here")

    def require_end(self) -> None:
        if not self.is_done:
            self.refuse("the statement should end here")

    def name(self, what: str) -> str:
        """A name, quoted or not."""
        if self.is_done or self.tokens[self.at].token_type in (TokenType.STRING, TokenType.NUMBER, *_OPENING):
            self.refuse(f"{what} is expected here")
        check_reserved(self.tokens[self.at].text, self.place())
        self.at += 1
        return str(self.tokens[self.at - 1].text)

    def relation(self, what: str) -> str:
        """The name of a relation, with its schema if that is said."""
        name = self.name(what)
        while self.word() == ".":
            self.at += 1
            name = f"{name}.{self.name('a name')}"
        return without_default(name)

    def string(self, what: str) -> str:
        """A text in quotes."""
        if self.is_done or self.tokens[self.at].token_type is not TokenType.STRING:
            self.refuse(f"{what} in quotes is expected here")
        self.at += 1
        return str(self.tokens[self.at - 1].text)

    def until(self, *words: str, before: str = "") -> tuple[int, int]:
        """The part up to a word at this level, or to the end; ``before`` is what must follow the word."""
        depth, first = 0, self.start
        while not self.is_done:
            kind = self.tokens[self.at].token_type
            if depth == 0 and self.word() in words and (not before or self.word(1) == before):
                break
            if depth == 0 and kind in _CLOSING:
                break
            depth += (kind in _OPENING) - (kind in _CLOSING)
            self.at += 1
        return first, self.tokens[self.at - 1].end + 1 if self.at and self.start > first else first

    # what parts hold

    def parsed(self, part: tuple[int, int], what: str) -> Expression:
        """The one statement in a part of the text."""
        trees = parse_at(self.text, *part)
        if len(trees) != 1:
            raise InvalidSyntax(Place(self.text, part[0], part[1]), reason=f"{what} is expected here")
        return trees[0]

    def expressions(self) -> list[Expression]:
        """Expressions in parentheses, which may be none."""
        self.expect("(")
        start, end = self.until()
        self.expect(")")
        if start == end:
            return []
        word = "SELECT "
        if start < len(word):
            raise InvalidSyntax(Place(self.text, start, end), reason="expressions are out of place here")
        try:
            padded = blanked(self.text, start, end)
            tree = sqlglot.parse_one(padded[: start - len(word)] + word + padded[start:], read=DIALECT)
        except ParseError:
            raise InvalidSyntax(Place(self.text, start, end), reason="these are no expressions") from None
        return list(tree.expressions)

    def columns(self) -> tuple[Column, ...]:
        """Names with types, in parentheses."""
        self.expect("(")
        columns: list[Column] = []
        at = self.place()
        while not self.accept(")"):
            if columns:
                self.expect(",")
            at, name = self.place(), self.name("the name of a column")
            start, end = self.until(",")
            columns.append(Column(name, self._type(start, end)))
        check_names([c.name for c in columns], at)
        return tuple(columns)

    def _type(self, start: int, end: int) -> str:
        at, written = Place(self.text, start, end), self.text[start:end]
        try:
            kind = types.canonical(exp.DataType.build(written, dialect=DIALECT))
        except (SqlglotError, ValueError, TidingsError):
            raise UnsupportedType(at, type=written) from None
        if not written or not types.is_supported(kind):
            raise UnsupportedType(at, type=written)
        return kind

    def interval(self) -> int:
        """``INTERVAL 5 MINUTES``, perhaps of several parts, in microseconds."""
        self.expect("INTERVAL")
        total, any_part = 0, False
        while not self.is_done and self.tokens[self.at].token_type in (TokenType.NUMBER, TokenType.STRING):
            number, unit = str(self.tokens[self.at].text), self.word(1)
            words = number.split()
            if len(words) == 2:
                number, unit = words[0], words[1].upper()
            if unit.removesuffix("S") not in UNITS:
                self.refuse("an interval of fixed length is expected here", f"the units are {', '.join(UNITS)}")
            try:
                total += int(float(number) * UNITS[unit.removesuffix("S")])
            except ValueError:
                self.refuse("a number is expected here")
            any_part = True
            self.at += 1 if len(words) == 2 else 2
        if not any_part or total <= 0:
            self.refuse("an interval such as INTERVAL 5 MINUTES is expected here")
        return total

"""What is wrong with a text that cannot be read: where, what was expected there, and which word may be misspelt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import InvalidSyntax, Place
from tidings.errors.query import NO_UNSIGNED, UNSIGNED

_STATEMENTS = (
    "SELECT INSERT UPDATE DELETE MERGE CREATE ALTER DROP TRUNCATE COPY WITH VALUES FROM TABLE SHOW DESCRIBE EXPLAIN"
    " REFRESH VACUUM BEGIN COMMIT ROLLBACK ENABLE DISABLE ACTIVATE DEACTIVATE SIGNAL SILENCE UNSILENCE"
).split()
_CLAUSES = (
    "FROM WHERE GROUP HAVING ORDER LIMIT OFFSET QUALIFY WINDOW JOIN INNER OUTER LEFT RIGHT FULL CROSS UNION INTERSECT"
    " EXCEPT INTO VALUES MATCHED USING DISTINCT BETWEEN TABLE VIEW MATERIALIZED PRIMARY"
).split()
_MISSING = re.compile(r"Required keyword: '\w+' missing for ")
_HALF = re.compile("[\ud800-\udfff]")
_OPENERS = (TokenType.L_PAREN, TokenType.SELECT, TokenType.COMMA)
_CLOSERS = (TokenType.R_PAREN, TokenType.FROM, TokenType.COMMA, TokenType.SEMICOLON)


def syntax_error(text: str, tokens: Sequence[Token], error: ParseError) -> InvalidSyntax:
    """The parser's complaint in plain words, with the nearest key word where one seems to be misspelt."""
    if not error.errors:
        return InvalidSyntax(Place(text, len(text), len(text)), reason="it ends too early")
    first = error.errors[0]
    shown = str(first.get("highlight") or "")
    start = max(0, _offset(text, int(first["line"] or 1), int(first["col"] or 1)) - len(shown))
    is_last = not text[start + len(shown) :].strip(" \n;)")
    reason = _reason(str(first["description"]).rstrip("."), shown, is_last=is_last)
    hint = NO_UNSIGNED if shown.lower() in UNSIGNED else _misspelt(tokens, start)
    return InvalidSyntax(Place(text, start, start + len(shown)), hint, reason=reason)


def require_items_between_commas(text: str, tokens: Sequence[Token]) -> None:
    """Refuse a comma with nothing before or behind it, which the parser passes over."""
    for before, token in pairwise(tokens):
        is_lone = token.token_type is TokenType.COMMA and before.token_type in _OPENERS
        is_last = before.token_type is TokenType.COMMA and token.token_type in _CLOSERS
        if is_lone or is_last:
            comma = token if is_lone else before
            reason = "something is missing beside this comma"
            raise InvalidSyntax(Place(text, comma.start, comma.end + 1), reason=reason)
    if tokens and tokens[-1].token_type is TokenType.COMMA:
        raise InvalidSyntax(Place(text, tokens[-1].start, tokens[-1].end + 1), reason="it ends with a comma")


def require_whole_characters(text: str, tokens: Sequence[Token]) -> None:
    """Refuse texts with half of a character in them, which no engine reads."""
    if text.isascii():
        return
    for token in tokens:
        if token.token_type is TokenType.STRING and _HALF.search(token.text):
            reason = "this text has half of a character, which cannot be written"
            raise InvalidSyntax(Place(text, token.start, token.end + 1), reason=reason)


def require_no_overflow(text: str, tokens: Sequence[Token]) -> None:
    """Refuse ``listagg(x, ',' ON OVERFLOW …)``, which the parser passes over."""
    for words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        on, overflow, what = (word.text.upper() for word in words)
        if (on, overflow) == ("ON", "OVERFLOW") and what in ("TRUNCATE", "ERROR"):
            reason = "Spark SQL has no ON OVERFLOW; a text grows as long as it is"
            raise InvalidSyntax(Place(text, words[0].start, words[2].end + 1), reason=reason)


def _reason(description: str, shown: str, *, is_last: bool) -> str:
    """The description without the parser's own vocabulary.

    >>> _reason("Invalid expression / Unexpected token", "customer", is_last=False)
    'customer is not expected here'
    >>> _reason("Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Where'>", "WHERE", is_last=True)
    'it ends too early: WHERE needs something behind it'
    >>> _reason("Expecting )", "FROM", is_last=False)
    ') is expected here'
    """
    if expected := re.fullmatch(r"Expect(?:ing|ed) (\S{1,12})", description):
        return f"{expected[1]} is expected here"
    if is_last and shown and (_MISSING.match(description) or "SENTINEL" in description):
        return f"it ends too early: {shown} needs something behind it"
    if shown and _MISSING.match(description):
        return f"something is missing before {shown}"
    if "<" in description or "expression" in description.lower():
        return f"{shown} is not expected here" if shown else "something is missing or out of place here"
    return description


def _misspelt(tokens: Sequence[Token], start: int) -> str | None:
    """A hint that names the key word which the first word, or the one before the place, may have been meant to be."""
    first = tokens[0].text.upper() if tokens else ""
    if first and first not in _STATEMENTS and (close := get_close_matches(first, _STATEMENTS, n=1)):
        return f"did you mean {close[0]}?"
    before = [t.text.upper() for t in tokens if t.start < start and t.token_type is TokenType.VAR]
    close = get_close_matches(before[-1], _CLAUSES, n=1, cutoff=0.7) if before and before[-1] not in _CLAUSES else []
    return f"did you mean {close[0]}?" if close else None


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column

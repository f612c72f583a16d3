"""From text to sqlglot trees, and from trees back to places in the text."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from tidings.errors import InvalidSyntax, Place
from tidings.ir.expression import DIALECT, Expression


def statements(text: str) -> list[Expression]:
    """The statements of a text, in order.  Empty ones are left out."""
    try:
        return [s for s in sqlglot.parse(text, read=DIALECT) if s is not None and not isinstance(s, exp.Semicolon)]
    except ParseError as error:
        first = error.errors[0]
        shown = str(first.get("highlight") or "")
        start = _offset(text, int(first["line"] or 1), int(first["col"] or 1)) - len(shown)
        reason = str(first["description"]).rstrip(".")
        raise InvalidSyntax(Place(text, max(0, start), max(0, start) + len(shown)), reason=reason) from None
    except TokenError:
        start = _unclosed(text)
        raise InvalidSyntax(Place(text, start, start + 1), reason="a quotation or comment is not closed") from None


def place(text: str, node: Expression) -> Place | None:
    """The stretch of text a tree was read from, as far as its tokens tell."""
    marks = [n.meta for n in node.walk() if "start" in n.meta]
    if not marks:
        return None
    return Place(text, min(m["start"] for m in marks), max(m["end"] for m in marks) + 1)


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column


def _unclosed(text: str) -> int:
    """Where the quotation or comment begins that nothing closes."""
    token = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'\"`]", re.DOTALL)
    at = 0
    while (found := token.match(text, at)) is not None:
        at = found.end()
    return min(at, len(text) - 1)

"""From text to sqlglot trees, and from trees back to places in the text."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from tidings.errors import InvalidSyntax, Place
from tidings.ir.dialect import DIALECT, WrittenSparkSQL
from tidings.ir.expression import Expression
from tidings.lang.sql.depth.long_chains import without_long_chains
from tidings.lang.sql.depth.size_limits import require_size, without_idle_parentheses
from tidings.lang.sql.identifiers import with_plain_names
from tidings.lang.sql.schemas import with_whole_names
from tidings.lang.sql.syntax_errors import (
    require_items_between_commas,
    require_no_overflow,
    require_whole_characters,
    syntax_error,
)
from tidings.quiet import quiet


def statements(text: str) -> list[Expression]:
    """The statements of a text, in order.  Empty ones are left out."""
    text = readable(text)
    try:
        with quiet("sqlglot"):
            trees = sqlglot.parse(text, read=WrittenSparkSQL)
    except ParseError as error:
        raise syntax_error(text, sqlglot.tokenize(text, read=DIALECT), error) from None
    except (AttributeError, IndexError, TypeError, ValueError):  # what the parser does with some texts that break off
        raise InvalidSyntax(Place(text, len(text), len(text)), reason="it ends too early") from None
    except TokenError:
        start = _unclosed(text)
        raise InvalidSyntax(Place(text, start, start + 1), reason="a quotation or comment is not closed") from None
    read = [t for t in trees if t is not None and not isinstance(t, exp.Semicolon)]
    if len(read) != len(slices(text)):  # of a text that begins with a word such as ELSE the parser makes nothing
        raise InvalidSyntax(Place(text, 0, len(text)), reason="it is no statement")
    tokens = sqlglot.tokenize(text, read=DIALECT)
    require_items_between_commas(text, tokens)
    require_whole_characters(text, tokens)
    require_no_overflow(text, tokens)
    shortened = [without_long_chains(_with_whole_intervals(t)) for t in read]
    return [with_whole_names(with_plain_names(t, place(text, t))) for t in shortened]


def readable(text: str) -> str:
    """A text as parsers can read it, with the same places; refused if it is too large or nested too deeply."""
    require_size(text)
    try:
        tokens = sqlglot.tokenize(text, read=DIALECT)
    except TokenError:
        return text
    return without_idle_parentheses(text, tokens)


def _with_whole_intervals(tree: Expression) -> Expression:
    """``INTERVAL 1 DAY 3 HOURS`` is read as a sum; as an operand it needs the parentheses that keep it together.

    >>> _with_whole_intervals(sqlglot.parse_one("SELECT x - INTERVAL 1 DAY 3 HOURS", read=DIALECT)).sql(DIALECT)
    "SELECT x - (INTERVAL '1' DAY + INTERVAL '3' HOURS)"
    """
    for node in list(tree.find_all(exp.Add)):
        around = node.parent
        product = isinstance(around, exp.Mul | exp.Div)
        right = isinstance(around, exp.Binary) and node.arg_key == "expression"
        if isinstance(node.expression, exp.Interval) and _is_interval(node.this) and (product or right):
            node.replace(exp.Paren(this=node.copy()))
    return tree


def _is_interval(node: Expression) -> bool:
    return isinstance(node, exp.Interval) or (isinstance(node, exp.Add) and _is_interval(node.this))


def parsed(text: str) -> Expression:
    """An expression from its text.

    >>> parsed("a > 1").sql()
    'a > 1'
    """
    tree = sqlglot.parse_one(f"SELECT {text}", read=WrittenSparkSQL)
    assert isinstance(tree, exp.Select)
    first: Expression = tree.expressions[0].pop()
    return first


def slices(text: str) -> list[str]:
    """The text of each statement, in step with :func:`statements`."""
    tokens = sqlglot.tokenize(text, read=DIALECT)
    ends = [t.start for t in tokens if t.token_type is TokenType.SEMICOLON]
    bounds = zip([0, *(e + 1 for e in ends)], [*ends, len(text)], strict=True)
    parts = [text[a:b] for a, b in bounds]
    return [p for p in parts if sqlglot.tokenize(p, read=DIALECT)]


def after_as(statement: str) -> str:
    """The query of a ``CREATE VIEW … AS query``.

    >>> after_as("CREATE VIEW v (a) AS SELECT 1 AS x")
    'SELECT 1 AS x'
    """
    tokens = sqlglot.tokenize(statement, read=DIALECT)
    end = next((t.end + 1 for t in tokens if t.token_type is TokenType.ALIAS), len(statement))
    return statement[end:].strip()


def place(text: str, node: Expression) -> Place | None:
    """The part of the text a tree was read from, as far as its tokens tell."""
    marks = [n.meta for n in node.walk() if "start" in n.meta]
    if marks:
        return Place(text, min(m["start"] for m in marks), max(m["end"] for m in marks) + 1)
    with quiet("sqlglot"):
        written = node.sql(DIALECT)
    start = text.lower().find(written.lower())
    return Place(text, start, start + len(written)) if start >= 0 else None


def _unclosed(text: str) -> int:
    """Where the quotation or comment begins that nothing closes."""
    token = re.compile(
        r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|(?!/\*)[^'\"`]", re.DOTALL
    )
    at = 0
    while (closed := token.match(text, at)) is not None:
        at = closed.end()
    return min(at, len(text) - 1)

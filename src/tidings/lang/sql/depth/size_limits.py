"""How large a text may be and how deeply it may be nested, and what does not count as nesting.

A parser calls itself for what is nested, and so do all who go through a plan.  Beyond :data:`NESTING` a text is refused
by name; up to there the recursion limit of Python is raised to what that takes, once such a text comes.  Parentheses
around nothing but parentheses are taken away before: a program that writes SQL may have put thousands of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import Place, StatementTooDeep, StatementTooLarge

CHARACTERS = 32 << 20
"""No text is longer."""

NESTING = 200
"""Nothing is nested more deeply."""

PARENTHESES = 5000
"""So many parentheses around nothing but parentheses may stand within each other."""

OPERANDS = 900
"""No chain of arithmetic operators is longer: its parentheses count, and engines go no deeper than a thousand."""

SHALLOW = 15
"""Up to so much nesting the usual recursion limit does."""

SHORT = 50
"""And up to chains of so many operators, or so many queries in ``WITH``."""

_RECURSION = 10_000
"""Python calls that may be within each other for what is nested as deeply as that."""

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_ARITHMETIC = (TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.DIV, TokenType.MOD)
_APART = (
    *(TokenType.COMMA, TokenType.SEMICOLON, TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.AND),
    *(TokenType.OR, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.ON, TokenType.UNION),
)
"""What stands between chains of operators."""
_PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS)


def require_size(text: str) -> None:
    """Refuse a text that is too large to be read."""
    if len(text) > CHARACTERS:
        raise StatementTooLarge(characters=len(text), limit=CHARACTERS)


def without_idle_parentheses(text: str, tokens: Sequence[Token]) -> str:
    """A text in which parentheses that only hold others are blanks, so that places stay; refused if nested too deeply.

    The outermost and the innermost of such parentheses stay: those of a call are not those of a tuple.

    >>> import sqlglot
    >>> text = "SELECT f(((((a, b)))))"
    >>> without_idle_parentheses(text, sqlglot.tokenize(text, read="spark"))
    'SELECT f(   (a, b)   )'
    """
    idle = _idle(text, tokens)
    kept = [token for n, token in enumerate(tokens) if n not in idle]
    if _depth(text, kept) > SHALLOW or max(_longest_chain(text, kept), _named_queries(kept)) > SHORT:
        sys.setrecursionlimit(max(_RECURSION, sys.getrecursionlimit()))
    if not idle:
        return text
    characters = list(text)
    for n in idle:
        characters[tokens[n].start] = " "
    return "".join(characters)


def _idle(text: str, tokens: Sequence[Token]) -> set[int]:
    """Parentheses that hold nothing but others and are held by such, as places among the tokens."""
    opened: list[int] = []
    partner: dict[int, int] = {}
    for n, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            opened.append(n)
        elif token.token_type is TokenType.R_PAREN and opened:
            partner[opened.pop()] = n
    idle: set[int] = set()
    run = 0
    for start, end in sorted(partner.items()):
        is_held = partner.get(start - 1) == end + 1
        run = run + 1 if is_held else 0
        if run > PARENTHESES:
            raise StatementTooDeep(_place(text, tokens[start]), depth=run, limit=PARENTHESES)
        if is_held and partner.get(start + 1) == end - 1:
            idle |= {start, end}
    return idle


def _depth(text: str, tokens: Sequence[Token]) -> int:
    """How deeply a text is nested; refused if too deeply."""
    depth = deepest = prefixes = 0
    for token in tokens:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(0, depth - 1)
        deepest = max(deepest, depth + prefixes)
        if deepest > NESTING:
            raise StatementTooDeep(_place(text, token), depth=deepest, limit=NESTING)
    return deepest


def _longest_chain(text: str, tokens: Sequence[Token]) -> int:
    """How many arithmetic operators follow each other; refused if too many.

    >>> import sqlglot
    >>> _longest_chain("", sqlglot.tokenize("SELECT a + (b * c - d) + e, a - b", read="spark"))
    2
    """
    chains, longest = [0], 0
    for token in tokens:
        kind = token.token_type
        if kind in _ARITHMETIC:
            chains[-1] += 1
            longest = max(longest, chains[-1])
            if longest > OPERANDS:
                raise StatementTooDeep(_place(text, token), depth=longest, limit=OPERANDS)
        elif kind in _APART:
            chains[-1] = 0
        elif kind in _OPENING:
            chains.append(0)
        elif kind in _CLOSING and len(chains) > 1:
            chains.pop()
    return longest


def _named_queries(tokens: Sequence[Token]) -> int:
    """How many queries in parentheses follow an ``AS``: each may read the one before."""
    kinds = [token.token_type for token in tokens]
    return sum(one is TokenType.ALIAS and two is TokenType.L_PAREN for one, two in pairwise(kinds))


def _place(text: str, token: Token) -> Place:
    return Place(text, token.start, token.end + 1)

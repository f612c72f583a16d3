"""Statements that show what is defined:

SHOW TABLES | SHOW VIEWS | SHOW RULES | SHOW CONTINUOUS QUERIES
DESCRIBE [TABLE] name
SHOW CREATE TABLE name | SHOW CREATE VIEW name | SHOW CREATE RULE name | SHOW CREATE CONTINUOUS QUERY name
EXPLAIN RULE name
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidings.errors import Place, UnsupportedStatement
from tidings.lang.sql.statements.token_reader import TokenReader

DefinedKind: TypeAlias = Literal["table", "view", "rule", "continuous query"]
"""What can be defined and shown."""

KINDS: tuple[DefinedKind, ...] = ("table", "view", "rule", "continuous query")
_PLURALS = {"continuous query": "CONTINUOUS QUERIES"}


@dataclass(frozen=True, slots=True)
class ShowNames:
    """``SHOW TABLES``, ``SHOW VIEWS``, ``SHOW RULES`` or ``SHOW CONTINUOUS QUERIES``."""

    kind: DefinedKind


@dataclass(frozen=True, slots=True)
class Describe:
    """``DESCRIBE name``: the columns of a table or view."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """``SHOW CREATE TABLE name``, or the same for a view, a rule or a continuous query."""

    kind: DefinedKind
    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class ExplainRule:
    """``EXPLAIN RULE name``: how a rule is judged."""

    name: str
    place: Place


ShowStatement: TypeAlias = ShowNames | Describe | ShowCreate | ExplainRule


def is_show_statement(reader: TokenReader) -> bool:
    """Whether a statement is one of those read here."""
    is_explain = reader.word() == "EXPLAIN" and reader.word(1) == "RULE"
    return is_explain or reader.word() in ("SHOW", "DESCRIBE", "DESC")


def read_show_statement(reader: TokenReader) -> ShowStatement:
    """One of the statements that show what is defined."""
    statement: ShowStatement
    if reader.accept("EXPLAIN", "RULE"):
        place = reader.place()
        statement = ExplainRule(reader.name("a rule"), place)
    elif not reader.accept("SHOW"):
        reader.at += 1
        reader.accept("TABLE")
        place = reader.place()
        statement = Describe(reader.relation("a table or view"), place)
    elif reader.accept("CREATE"):
        statement = _show_create(reader)
    else:
        statement = _show_names(reader)
    reader.require_end()
    return statement


def _show_names(reader: TokenReader) -> ShowNames:
    for kind in KINDS:
        if reader.accept(*_PLURALS.get(kind, f"{kind.upper()}S").split()):
            return ShowNames(kind)
    hint = (
        "SHOW TABLES, VIEWS, RULES or CONTINUOUS QUERIES, SHOW CREATE TABLE, VIEW, RULE or CONTINUOUS QUERY name, and"
        " DESCRIBE name are there"
    )
    raise UnsupportedStatement(reader.place(), hint, statement=f"SHOW {reader.word()}".strip())


def _show_create(reader: TokenReader) -> ShowCreate:
    for kind in KINDS:
        if reader.accept(*kind.upper().split()):
            place = reader.place()
            return ShowCreate(kind, reader.relation(f"a {kind}"), place)
    reader.refuse("TABLE, VIEW, RULE or CONTINUOUS QUERY is expected here")

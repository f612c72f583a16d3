"""What a statement asks for, once its text is understood.

Definitions and changes come out as small records; queries stay trees until they are bound.  Places in trees refer to
``text``, everything that was read together; ``query_text`` is the text of the one query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.depth.size_limits import require_size
from tidings.lang.sql.embedded import HiddenPrograms, hidden
from tidings.lang.sql.names import relation_name
from tidings.lang.sql.parameters import Parameters, Params
from tidings.lang.sql.parse import place, readable, slices, statements
from tidings.lang.sql.statements.begin import BeginTransaction, read_begin
from tidings.lang.sql.statements.clauses import refuse_unread
from tidings.lang.sql.statements.clock import AcceptClock, is_accept_clock, read_accept_clock
from tidings.lang.sql.statements.continuous import (
    ContinuousStatement,
    CreateContinuousQuery,
    DropContinuousQuery,
    RefreshContinuousQuery,
    is_continuous_statement,
    read_continuous_statement,
)
from tidings.lang.sql.statements.copy import Copy, read_copy
from tidings.lang.sql.statements.create_table_as import CreateTableAs, read_create_table_as
from tidings.lang.sql.statements.define import (
    AddColumns,
    CreateTable,
    DropColumns,
    RenameColumn,
    RenameTable,
    WidenColumn,
    read_alter,
    read_create_table,
)
from tidings.lang.sql.statements.dml import (
    Delete,
    Insert,
    Merge,
    Update,
    read_delete,
    read_insert,
    read_merge,
    read_truncate,
    read_update,
)
from tidings.lang.sql.statements.explain_continuous import (
    ExplainContinuous,
    is_explain_continuous,
    read_explain_continuous,
)
from tidings.lang.sql.statements.fragmented import CreateFragmented, is_fragmented, read_fragmented
from tidings.lang.sql.statements.rule import (
    ActivateRule,
    CreateEvent,
    CreateRule,
    DropEvent,
    DropRule,
    RuleStatement,
    Signal,
    SwitchRule,
    is_rule_statement,
    read_rule_statement,
)
from tidings.lang.sql.statements.show import (
    Describe,
    ExplainRule,
    ShowCreate,
    ShowNames,
    ShowStatement,
    is_show_statement,
    read_show_statement,
)
from tidings.lang.sql.statements.silence import (
    EndSilence,
    SilenceRule,
    SilenceStatement,
    UnsilenceRule,
    is_silence_statement,
    read_silence_statement,
)
from tidings.lang.sql.statements.token_reader import TokenReader, blanked, parse_at
from tidings.lang.sql.statements.view import CreateView, read_create_view

__all__ = [
    "AcceptClock",
    "ActivateRule",
    "AddColumns",
    "BeginTransaction",
    "CommitTransaction",
    "ContinuousStatement",
    "Copy",
    "CreateContinuousQuery",
    "CreateEvent",
    "CreateFragmented",
    "CreateRule",
    "CreateTable",
    "CreateTableAs",
    "CreateView",
    "Delete",
    "Describe",
    "Drop",
    "DropColumns",
    "DropContinuousQuery",
    "DropEvent",
    "DropRule",
    "EndSilence",
    "ExplainContinuous",
    "ExplainRule",
    "Insert",
    "Merge",
    "Query",
    "RefreshContinuousQuery",
    "RefreshView",
    "RenameColumn",
    "RenameTable",
    "RollbackTransaction",
    "RuleStatement",
    "ShowCreate",
    "ShowNames",
    "ShowStatement",
    "Signal",
    "SilenceRule",
    "Statement",
    "SwitchRule",
    "UnsilenceRule",
    "Update",
    "Vacuum",
    "WidenColumn",
    "read",
]


@dataclass(frozen=True, slots=True)
class RefreshView:
    """``REFRESH MATERIALIZED VIEW name``."""

    name: str


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP TABLE [IF EXISTS] name, … [CASCADE]`` or the same for views."""

    names: tuple[str, ...]
    kind: str
    if_exists: bool
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Vacuum:
    """``VACUUM``, or ``VACUUM CHECK``, which reads everything and changes nothing."""

    checks: bool = False


@dataclass(frozen=True, slots=True)
class CommitTransaction:
    """``COMMIT``."""


@dataclass(frozen=True, slots=True)
class RollbackTransaction:
    """``ROLLBACK``."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query to be answered now."""

    query: Expression
    text: str
    query_text: str


Statement: TypeAlias = (
    CreateTable
    | CreateFragmented
    | CreateTableAs
    | AddColumns
    | DropColumns
    | WidenColumn
    | RenameColumn
    | RenameTable
    | CreateView
    | RefreshView
    | Drop
    | Insert
    | Update
    | Delete
    | Merge
    | Copy
    | Vacuum
    | AcceptClock
    | BeginTransaction
    | CommitTransaction
    | RollbackTransaction
    | Query
    | RuleStatement
    | SilenceStatement
    | ContinuousStatement
    | ShowStatement
    | ExplainContinuous
)


def read(text: str, params: Params | None = None) -> list[Statement]:
    """The statements of a text, in order, with the values of its parameters."""
    require_size(text)
    programs, parameters = hidden(text), Parameters(params)
    read = _read(readable(text if programs is None else programs.text), parameters)
    parameters.require_all_used()
    return read if programs is None else [_restored(statement, programs) for statement in read]


def _restored(statement: Statement, programs: HiddenPrograms) -> Statement:
    """A statement with the programs of other languages that were hidden from the parser."""
    if not isinstance(statement, CreateView | CreateTableAs | Query):
        return statement
    programs.mark(statement.query)
    return replace(statement, text=programs.original, query_text=programs.restored(statement.query_text))


def _read(text: str, parameters: Parameters) -> list[Statement]:
    parts = _parts(text) if _MAY_BE_OWN.search(text) else []
    if not any(_is_own(TokenReader(text, tokens)) for tokens in parts):
        return _plain(text, parameters)
    result: list[Statement] = []
    for tokens in parts:
        reader, part = TokenReader(text, tokens), (tokens[0].start, tokens[-1].end + 1)
        if is_rule_statement(reader):
            result.append(read_rule_statement(reader, _change))
        elif is_silence_statement(reader):
            result.append(read_silence_statement(reader))
        elif is_accept_clock(reader):
            result.append(read_accept_clock(reader))
        elif is_continuous_statement(reader):
            result.append(read_continuous_statement(reader))
        elif is_explain_continuous(reader):
            result.append(read_explain_continuous(reader))
        elif is_fragmented(reader):
            result.append(read_fragmented(reader))
        elif is_show_statement(reader):
            result.append(read_show_statement(reader))
        else:
            trees = parse_at(text, *part)
            result += [_filled(tree, text, text[slice(*part)], parameters) for tree in trees]
    return result


_MAY_BE_OWN = re.compile(
    r"\b(rule|event|signal|enable|disable|silence|unsilence|show|describe|continuous|fragmented|clock)\b|(^|;)\s*desc\b",
    re.IGNORECASE,
)
"""Texts without one of these words need not be looked at twice."""


def _is_own(reader: TokenReader) -> bool:
    """Whether a statement is one that SQL parsers do not know."""
    own = (
        is_rule_statement,
        is_silence_statement,
        is_accept_clock,
        is_continuous_statement,
        is_explain_continuous,
        is_fragmented,
        is_show_statement,
    )
    return any(is_one(reader) for is_one in own)


def _parts(text: str) -> list[list[Token]]:
    """The tokens of each statement; none where the text cannot be read, which the parser has to say."""
    parts: list[list[Token]] = [[]]
    try:
        for token in sqlglot.tokenize(text, read=DIALECT):
            if token.token_type is TokenType.SEMICOLON:
                parts.append([])
            elif parts[-1] and _swallows_the_rest(parts[-1][0]):
                parts[-1] += _tokens_after(text, parts[-1][0], token)
            else:
                parts[-1].append(token)
    except TokenError:
        return []
    return [part for part in parts if part]


def _swallows_the_rest(token: Token) -> bool:
    """Whether sqlglot takes all that follows a first word as one text: SHOW and EXPLAIN."""
    return token.token_type is TokenType.SHOW or token.text.upper() == "EXPLAIN"


def _tokens_after(text: str, word: Token, rest: Token) -> list[Token]:
    """What follows SHOW or EXPLAIN, token by token, from behind that word to the end of the statement."""
    start = text.index(rest.text, word.end + 1)
    return list(sqlglot.tokenize(blanked(text, start, start + len(rest.text)), read=DIALECT))


def _change(tree: Expression, text: str) -> Insert | Update | Delete | Merge | None:
    """A statement that changes rows, as the action of a rule."""
    refuse_unread(tree, text)
    statement = _row_statement(tree, text)
    return None if isinstance(statement, Copy) else statement


def _plain(text: str, parameters: Parameters) -> list[Statement]:
    """The statements of a text that the parser knows."""
    trees = statements(text)
    return [_filled(tree, text, part, parameters) for tree, part in zip(trees, slices(text), strict=True)]


def _filled(tree: Expression, text: str, query_text: str, parameters: Parameters) -> Statement:
    """The statement of a tree with the values of its parameters; names of columns come from what is then asked."""
    has_parameters = tree.find(exp.Placeholder) is not None
    filled = parameters.filled(tree, text)
    return _statement(filled, text, filled.sql(DIALECT) if has_parameters else query_text)


def _row_statement(tree: Expression, text: str) -> Insert | Update | Delete | Merge | Copy | None:
    """A statement that changes rows; None for others."""
    match tree:
        case exp.Insert() if isinstance(tree.expression, exp.Query | exp.Values):
            return read_insert(tree, text)
        case exp.Update():
            return read_update(tree, text)
        case exp.Delete():
            return read_delete(tree, text)
        case exp.Merge():
            return read_merge(tree, text)
        case exp.Copy():
            return read_copy(tree, text)
        case exp.TruncateTable():
            return read_truncate(tree, text)
        case _:
            return None


def _statement(tree: Expression, text: str, query_text: str) -> Statement:
    if not isinstance(tree, exp.Query | exp.Values):
        refuse_unread(tree, text)
    statement = _row_statement(tree, text)
    if statement is not None:
        return statement
    match tree:
        case exp.Create(kind="TABLE") if isinstance(tree.expression, exp.Query | exp.Values) and not tree.args.get(
            "replace"
        ):
            return read_create_table_as(tree, text, query_text)
        case exp.Create(kind="TABLE", this=exp.Schema()) if not tree.expression and not tree.args.get("replace"):
            return read_create_table(tree, text)
        case exp.Alter(kind="TABLE"):
            return read_alter(tree, text)
        case exp.Create(kind="VIEW"):
            return read_create_view(tree, text, query_text)
        case exp.Drop() if tree.args.get("kind") in ("TABLE", "VIEW"):
            names = tuple(relation_name(t, text) for t in tree.args["tables"])
            return Drop(names, tree.args["kind"], bool(tree.args.get("exists")), bool(tree.args.get("cascade")))
        case exp.Refresh() if str(tree.args.get("kind")) == "MATERIALIZED VIEW":
            return RefreshView(relation_name(tree.this, text))
        case exp.Transaction():
            return read_begin(tree, text)
        case exp.Commit() | exp.Rollback() if not any(tree.args.values()):
            return CommitTransaction() if isinstance(tree, exp.Commit) else RollbackTransaction()
        case exp.Command() if str(tree.this).upper() == "VACUUM" and tree.text("expression").upper().strip() in (
            "",
            "CHECK",
        ):
            return Vacuum(checks=bool(tree.text("expression").strip()))
        case exp.Query() | exp.Values():
            return Query(tree, text, query_text)
        case _:
            at = place(text, tree)
            written = tree.sql(DIALECT, comments=False)
            if at is not None and isinstance(tree, exp.Alias):  # a verb that is not known, and a word behind it
                written = text[at.start : at.end]
            words = " ".join(written.split()[:3])
            if words.upper().startswith("EXPLAIN"):
                raise UnsupportedStatement(place(text, tree), _EXPLAIN, statement="EXPLAIN")
            about_schema = isinstance(tree, exp.Use) or str(tree.args.get("kind")).upper() in ("SCHEMA", "DATABASE")
            hint = _NO_SCHEMA if about_schema else _BEGIN if words.upper() == "START TRANSACTION" else None
            raise UnsupportedStatement(at, hint, statement=words)


_EXPLAIN = "db.explain(query) shows how it is maintained; EXPLAIN RULE and EXPLAIN CONTINUOUS are statements"
_BEGIN = "a transaction of several statements in one text is between BEGIN and COMMIT"
_NO_SCHEMA = "a schema needs no statement: it is a part of names, as in CREATE TABLE sales.orders (…)"

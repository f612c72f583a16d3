"""``CREATE TABLE … FRAGMENTED BY UNION (…)`` and ``… BY JOIN (…) ON key``: what such a statement says.

    part    ::=  name [(columns)] [AT site] [WHERE condition]
              |  UNION (part, part, …) [WHERE condition]
              |  JOIN (part, part, …) ON key [WHERE condition]

With columns the statement makes the fragments; without, they are tables that are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from tidings.errors import InvalidSyntax, Place
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.fragments import PartKind
from tidings.lang.sql.statements.define import CreateTable, read_create_table
from tidings.lang.sql.statements.token_reader import TokenReader, blanked


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A part of a fragmented table as it is written."""

    kind: PartKind
    place: Place
    table: str = ""
    columns: tuple[str, ...] = ()
    """The columns that a fragment names; none if it does not say."""
    site: str = ""
    where: Expression | None = None
    parts: tuple[WrittenPart, ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateFragmented:
    """``CREATE TABLE [IF NOT EXISTS] name [(columns and constraints)] FRAGMENTED BY parts``."""

    name: str
    declared: CreateTable | None
    """What the table is declared to be; None if its fragments say it."""
    whole: WrittenPart
    if_absent: bool
    text: str


def is_fragmented(reader: TokenReader) -> bool:
    """Whether a statement is one of these."""
    words = [reader.word(n) for n in range(len(reader.tokens))]
    return words[:2] == ["CREATE", "TABLE"] and ("FRAGMENTED", "BY") in pairwise(words)


def read_fragmented(reader: TokenReader) -> CreateFragmented:
    """What the statement of a reader says."""
    first = reader.start
    reader.expect("CREATE", "TABLE")
    if_absent = reader.accept("IF", "NOT", "EXISTS")
    name = reader.relation("the name of a table")
    declared = None
    if reader.word() == "(":
        _, end = reader.until("FRAGMENTED", before="BY")
        tree = reader.parsed((first, end), "the definition of a table")
        if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
            raise InvalidSyntax(Place(reader.text, first, end), reason="the columns of a table are expected here")
        declared = read_create_table(tree, reader.text)
        name = declared.name
    reader.expect("FRAGMENTED", "BY")
    if reader.word() not in ("UNION", "JOIN"):
        reader.refuse("UNION or JOIN is expected here")
    whole = _part(reader)
    reader.require_end()
    return CreateFragmented(name, declared, whole, if_absent, reader.text)


def _part(reader: TokenReader) -> WrittenPart:
    at, word = reader.place(), reader.word()
    if word in ("UNION", "JOIN") and reader.word(1) == "(":
        reader.at += 1
        parts = _parts(reader)
        key: tuple[str, ...] = ()
        if word == "JOIN":
            reader.expect("ON")
            key = _names(reader) if reader.word() == "(" else (reader.name("the key"),)
        where = _where(reader)
        return WrittenPart("union" if word == "UNION" else "join", at, where=where, parts=parts, key=key)
    table = reader.relation("the name of a fragment")
    columns = _names(reader) if reader.word() == "(" else ()
    site = reader.name("the name of a site") if reader.accept("AT") else ""
    return WrittenPart("table", at, table, columns, site, _where(reader))


def _parts(reader: TokenReader) -> tuple[WrittenPart, ...]:
    reader.expect("(")
    parts = [_part(reader)]
    while reader.accept(","):
        parts.append(_part(reader))
    reader.expect(")")
    return tuple(parts)


def _names(reader: TokenReader) -> tuple[str, ...]:
    reader.expect("(")
    names = [reader.name("the name of a column")]
    while reader.accept(","):
        names.append(reader.name("the name of a column"))
    reader.expect(")")
    return tuple(names)


def _where(reader: TokenReader) -> Expression | None:
    """The condition of a part, parsed in its place."""
    if not reader.accept("WHERE"):
        return None
    start, end = reader.until(",")
    word = "SELECT "
    padded = blanked(reader.text, start, end)
    try:
        tree = sqlglot.parse_one(padded[: start - len(word)] + word + padded[start:], read=DIALECT)
    except ParseError:
        tree = None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Alias):
        raise InvalidSyntax(Place(reader.text, start, end), reason="a condition is expected here")
    condition: Expression = tree.expressions[0]
    return condition

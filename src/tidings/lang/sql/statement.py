"""What a statement asks for, once its text is understood.

Definitions and changes come out as small records; queries stay trees until they are bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tidings.errors import InvalidSyntax, UnsupportedStatement
from tidings.ir import types
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.bind import check_names, check_reserved
from tidings.lang.sql.parse import place, statements


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE TABLE name (column type, …)``."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [OR REPLACE] VIEW name [(columns)] AS query``."""

    name: str
    columns: tuple[str, ...]
    query: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP TABLE name`` or ``DROP VIEW name``."""

    name: str
    kind: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO table [(columns)] query``."""

    table: str
    columns: tuple[str, ...]
    query: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query to be answered now."""

    query: Expression
    text: str


Statement: TypeAlias = CreateTable | CreateView | Drop | Insert | Query


def read(text: str) -> list[Statement]:
    """The statements of a text, in order."""
    return [_statement(tree, text) for tree in statements(text)]


def _statement(tree: Expression, text: str) -> Statement:
    match tree:
        case exp.Create() if tree.kind == "TABLE" and isinstance(tree.this, exp.Schema):
            return _create_table(tree, text)
        case exp.Create() if tree.kind == "VIEW" and not tree.args.get("replace") and not tree.args.get("properties"):
            return _create_view(tree, text)
        case exp.Drop() if tree.args.get("kind") in ("TABLE", "VIEW") and not tree.args.get("cascade"):
            return Drop(tree.this.name, tree.args["kind"], bool(tree.args.get("exists")))
        case exp.Insert() if isinstance(tree.expression, exp.Query | exp.Values) and not tree.args.get("overwrite"):
            columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
            return Insert(tree.find(exp.Table).name, tuple(c.name for c in columns), tree.expression, text)  # type: ignore[union-attr]
        case exp.Query() | exp.Values():
            return Query(tree, text)
        case _:
            words = " ".join(tree.sql("spark", comments=False).split()[:3])
            raise UnsupportedStatement(place(text, tree), statement=words)


def _create_table(tree: exp.Create, text: str) -> CreateTable:
    name = tree.this.this.name
    check_reserved(name, place(text, tree.this.this))
    definitions = [d for d in tree.this.expressions if isinstance(d, exp.ColumnDef)]
    for definition in tree.this.expressions:
        constrained = [c for c in definition.args.get("constraints") or [] if not _is_comment(c)]
        if not isinstance(definition, exp.ColumnDef) or constrained:
            raise UnsupportedStatement(
                place(text, definition),
                "declare columns by name and type only",
                statement="CREATE TABLE with constraints",
            )
    untyped = next((d for d in definitions if d.kind is None), None)
    if untyped is not None or not definitions:
        raise InvalidSyntax(place(text, untyped or tree), reason="every column of a table needs a type")
    check_names([d.name for d in definitions], place(text, tree.this))
    return CreateTable(name, tuple(Column(d.name, types.canonical(d.args["kind"])) for d in definitions))


def _is_comment(constraint: Expression) -> bool:
    return isinstance(constraint.args.get("kind"), exp.CommentColumnConstraint)


def _create_view(tree: exp.Create, text: str) -> CreateView:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    table = schema.this if schema is not None else tree.this
    check_reserved(table.name, place(text, table))
    columns = tuple(c.name for c in schema.expressions) if schema is not None else ()
    return CreateView(table.name, columns, tree.expression, text)

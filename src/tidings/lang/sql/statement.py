"""What a statement asks for, once its text is understood.

Definitions and changes come out as small records; queries stay trees until they are bound.  Places in trees refer to
``text``, everything that was read together; ``own`` is the text of the one query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place, UnsupportedStatement, UnsupportedType
from tidings.ir import types
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.bind import check_names, check_reserved
from tidings.lang.sql.parse import after_as, place, slices, statements


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE TABLE [IF NOT EXISTS] name (column type, …)``."""

    name: str
    columns: tuple[Column, ...]
    if_absent: bool


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [MATERIALIZED] VIEW [IF NOT EXISTS] name [(columns)] [WITH (refresh = '…')] AS query``."""

    name: str
    columns: tuple[str, ...]
    query: Expression
    text: str
    own: str
    place: Place | None
    if_absent: bool
    stored: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP TABLE [IF EXISTS] name, …`` or the same for views."""

    names: tuple[str, ...]
    kind: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO table [(columns)] query``."""

    table: str
    columns: tuple[str, ...]
    query: Expression
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Query:
    """A query to be answered now."""

    query: Expression
    text: str
    own: str


Statement: TypeAlias = CreateTable | CreateView | Drop | Insert | Query


def read(text: str) -> list[Statement]:
    """The statements of a text, in order."""
    trees = statements(text)
    return [_statement(tree, text, own) for tree, own in zip(trees, slices(text), strict=True)]


def _statement(tree: Expression, text: str, own: str) -> Statement:
    match tree:
        case exp.Create(kind="TABLE", this=exp.Schema()) if not tree.args.get("properties"):
            return _create_table(tree, text)
        case exp.Create(kind="VIEW") if not tree.args.get("replace"):
            return _create_view(tree, text, own)
        case exp.Drop() if tree.args.get("kind") in ("TABLE", "VIEW") and not tree.args.get("cascade"):
            names = tuple(_name(t, text) for t in tree.args["tables"])
            return Drop(names, tree.args["kind"], bool(tree.args.get("exists")))
        case exp.Insert() if isinstance(tree.expression, exp.Query | exp.Values) and not tree.args.get("overwrite"):
            return _insert(tree, text)
        case exp.Query() | exp.Values():
            return Query(tree, text, own)
        case _:
            words = " ".join(tree.sql(DIALECT, comments=False).split()[:3])
            raise UnsupportedStatement(place(text, tree), statement=words)


def _create_table(tree: exp.Create, text: str) -> CreateTable:
    name = _name(tree.this.this, text)
    definitions = tree.this.expressions
    if not definitions:
        raise InvalidSyntax(place(text, tree), reason="a table needs columns")
    for definition in definitions:
        _check_column(definition, text)
    check_names([d.name for d in definitions], place(text, tree.this))
    columns = tuple(Column(d.name, types.canonical(d.args["kind"])) for d in definitions)
    return CreateTable(name, columns, bool(tree.args.get("exists")))


def _check_column(definition: Expression, text: str) -> None:
    """Refuse what is not a plain column with a type that can be stored."""
    at = place(text, definition)
    if isinstance(definition, exp.Identifier):
        raise InvalidSyntax(at, reason="every column of a table needs a type")
    constrained = [c for c in definition.args.get("constraints") or [] if not _is_comment(c)]
    if not isinstance(definition, exp.ColumnDef) or constrained:
        hint = "declare columns by name and type only"
        raise UnsupportedStatement(at, hint, statement="CREATE TABLE with constraints")
    type = types.canonical(definition.args["kind"])
    if not types.is_supported(type):
        raise UnsupportedType(at, type=type)


def _is_comment(constraint: Expression) -> bool:
    return isinstance(constraint.args.get("kind"), exp.CommentColumnConstraint)


def _create_view(tree: exp.Create, text: str, own: str) -> CreateView:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    named = schema.expressions if schema is not None else []
    name = _name(schema.this if schema is not None else tree.this, text)
    if not isinstance(tree.expression, exp.Query | exp.Values):
        raise InvalidSyntax(place(text, tree), reason="a view needs AS and a query")
    at = place(text, schema) if schema is not None else None
    check_names([c.name for c in named], at)
    columns = tuple(c.name for c in named)
    exists, (is_stored, strict) = bool(tree.args.get("exists")), _refresh(tree, text)
    return CreateView(name, columns, tree.expression, text, after_as(own), at, exists, is_stored, strict)


def _refresh(tree: exp.Create, text: str) -> tuple[bool, bool]:
    """Whether a view is stored, and whether it must never be recomputed."""
    properties = tree.args["properties"].expressions if tree.args.get("properties") else []
    stored = any(isinstance(p, exp.MaterializedProperty) for p in properties)
    refresh = "incremental"
    for option in (p for p in properties if not isinstance(p, exp.MaterializedProperty)):
        name = str(option.name).lower() if isinstance(option, exp.Property) else ""
        if not stored or name != "refresh":
            words = option.sql(DIALECT, comments=False)
            hint = "the one option is refresh, of CREATE MATERIALIZED VIEW"
            raise UnsupportedStatement(place(text, tree), hint, statement=f"CREATE VIEW with {words}")
        refresh = str(option.args["value"].name).lower()
        if refresh not in _REFRESH:
            hint = f"it is one of: {', '.join(_REFRESH)}"
            raise InvalidSyntax(place(text, tree), hint, reason=f"there is no refresh {refresh!r}")
    return stored, refresh == "incremental strict"


_REFRESH = ("incremental", "incremental strict")


def _insert(tree: exp.Insert, text: str) -> Insert:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    named = schema.expressions if schema is not None else []
    at = place(text, tree.this)
    check_names([c.name for c in named], at)
    table = _name(schema.this if schema is not None else tree.this, text)
    return Insert(table, tuple(c.name for c in named), tree.expression, text, at)


def _name(table: Expression, text: str) -> str:
    """The plain name of a table or view."""
    if not isinstance(table, exp.Table) or table.db or not isinstance(table.this, exp.Identifier):
        raise UnsupportedStatement(
            place(text, table), "use a plain name", statement=f"a name such as {table.sql(DIALECT)}"
        )
    check_reserved(table.name, place(text, table))
    return table.name

"""Changes of rows in SQL: INSERT, UPDATE, DELETE and MERGE, as small records over trees that are bound later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place, UnsupportedStatement
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.lang.sql.names import check_names, relation_name
from tidings.lang.sql.parse import place

Setting: TypeAlias = tuple[Expression, Expression]
"""A column and its new value, as trees."""


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO table [(columns)] query``."""

    table: str
    columns: tuple[str, ...]
    query: Expression
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Update:
    """``UPDATE table [AS alias] SET column = value, … [WHERE condition]``."""

    table: str
    alias: str
    settings: tuple[Setting, ...]
    where: Expression | None
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Delete:
    """``DELETE FROM table [AS alias] [WHERE condition]``."""

    table: str
    alias: str
    where: Expression | None
    text: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class Clause:
    """``WHEN … [AND condition] THEN …``; an insert has ``settings`` too, a column and a value each.

    ``every`` stands for ``UPDATE SET *`` and ``INSERT *``: the columns of the target, from those of the same names.
    """

    when: Literal["matched", "unmatched", "unmatched by source"]
    condition: Expression | None
    action: Literal["update", "delete", "insert"]
    settings: tuple[Setting, ...] = ()
    every: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """``MERGE INTO table [AS alias] USING source ON condition WHEN …``."""

    table: str
    alias: str
    source: Expression
    on: Expression
    clauses: tuple[Clause, ...]
    text: str
    place: Place | None


RowStatement: TypeAlias = Insert | Update | Delete | Merge


def trees(statement: RowStatement) -> list[Expression]:
    """The queries, conditions and values of a statement."""
    match statement:
        case Insert(query=query):
            return [query]
        case Update(settings=settings, where=where):
            return [*(value for _, value in settings), *([] if where is None else [where])]
        case Delete(where=where):
            return [] if where is None else [where]
        case Merge(source=source, on=on, clauses=clauses):
            conditions = [clause.condition for clause in clauses if clause.condition is not None]
            return [source, on, *conditions, *(value for clause in clauses for _, value in clause.settings)]
        case _:
            assert_never(statement)


def targets(statement: RowStatement) -> list[Expression]:
    """The columns that a statement sets, as they are written."""
    match statement:
        case Update(settings=settings):
            return [column for column, _ in settings]
        case Merge(clauses=clauses):
            return [column for clause in clauses for column, _ in clause.settings]
        case _:
            return []


def read_insert(tree: exp.Insert, text: str) -> Insert:
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    named = schema.expressions if schema is not None else []
    at = place(text, tree.this)
    check_names([c.name for c in named], at)
    table = relation_name(schema.this if schema is not None else tree.this, text)
    return Insert(table, tuple(c.name for c in named), tree.expression, text, at)


def read_update(tree: exp.Update, text: str) -> Update:
    for part in ("from_", "limit", "order"):
        if tree.args.get(part):
            raise UnsupportedStatement(place(text, tree), "use WHERE and subqueries", statement=f"UPDATE with {part}")
    table, alias, at = _target(tree.this, text)
    where = tree.args.get("where")
    settings = tuple(_setting(e, text) for e in tree.expressions)
    return Update(table, alias, settings, where.this if where else None, text, at)


def read_delete(tree: exp.Delete, text: str) -> Delete:
    for part in ("using", "limit", "order", "tables"):
        if tree.args.get(part):
            raise UnsupportedStatement(place(text, tree), "use WHERE and subqueries", statement=f"DELETE with {part}")
    table, alias, at = _target(tree.this, text)
    where = tree.args.get("where")
    return Delete(table, alias, where.this if where else None, text, at)


def read_merge(tree: exp.Merge, text: str) -> Merge:
    table, alias, at = _target(tree.this, text)
    if tree.args.get("on") is None:
        raise InvalidSyntax(at, reason="MERGE needs ON and a condition")
    clauses = tuple(_clause(w, text, at) for w in tree.args["whens"].expressions)
    return Merge(table, alias, tree.args["using"], tree.args["on"], clauses, text, at)


def _clause(when: Expression, text: str, at: Place | None) -> Clause:
    condition, then = when.args.get("condition"), when.args["then"]
    matched, by_source = bool(when.args.get("matched")), bool(when.args.get("source"))
    kind: Literal["matched", "unmatched", "unmatched by source"] = (
        "matched" if matched else "unmatched by source" if by_source else "unmatched"
    )
    match then:
        case exp.Var() if then.name.upper() == "DELETE" and kind != "unmatched":
            return Clause(kind, condition, "delete")
        case exp.Update() if kind != "unmatched":
            if any(isinstance(e, exp.Star) for e in then.expressions):
                return Clause(kind, condition, "update", every=True)
            return Clause(kind, condition, "update", tuple(_setting(e, text) for e in then.expressions))
        case exp.Insert(this=exp.Star()) if kind == "unmatched":
            return Clause(kind, condition, "insert", every=True)
        case exp.Insert(this=exp.Tuple()) if kind == "unmatched":
            columns, values = then.this.expressions, then.expression.expressions
            if len(columns) != len(values):
                reason = f"{len(values)} values for {len(columns)} columns"
                raise InvalidSyntax(place(text, then), reason=reason)
            return Clause(kind, condition, "insert", tuple(zip(columns, values, strict=True)))
        case _:
            words = when.sql(DIALECT, comments=False)
            hint = "WHEN MATCHED updates or deletes, WHEN NOT MATCHED inserts the columns it names"
            raise UnsupportedStatement(place(text, when) or at, hint, statement=f"MERGE with {words}")


def _target(table: Expression, text: str) -> tuple[str, str, Place | None]:
    """A changed table's name, what the statement calls it, and where."""
    name = relation_name(table, text)
    return name, table.alias or name, place(text, table.this)


def _setting(node: Expression, text: str) -> Setting:
    if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
        raise InvalidSyntax(place(text, node), reason="SET takes column = value")
    return node.this, node.expression

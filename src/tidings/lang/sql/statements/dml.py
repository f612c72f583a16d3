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
class Conflict:
    """``ON CONFLICT [(key)] DO NOTHING``, or ``DO UPDATE SET column = value, … [WHERE condition]``.

    In values and in the condition ``excluded`` is the row that was to be inserted.
    """

    columns: tuple[Expression, ...]
    """The columns it names, which are those of the primary key; none if it names none."""
    settings: tuple[Setting, ...]
    """What it sets in a row that is there; nothing for DO NOTHING."""
    where: Expression | None


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO table [AS alias] [(columns)] query [ON CONFLICT …]``."""

    table: str
    columns: tuple[str, ...]
    query: Expression
    text: str
    place: Place | None
    alias: str
    conflict: Conflict | None = None


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
        case Insert(query=query, conflict=conflict):
            if conflict is None:
                return [query]
            where = conflict.where
            return [query, *(value for _, value in conflict.settings), *([] if where is None else [where])]
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
        case Update(settings=settings) | Insert(conflict=Conflict(settings=settings)):
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
    target = schema.this if schema is not None else tree.this
    table, alias, _ = _target(target, text)
    conflict = tree.args.get("conflict")
    columns = tuple(c.name for c in named)
    return Insert(table, columns, tree.expression, text, at, alias, _conflict(conflict, alias, text))


def _conflict(node: Expression | None, alias: str, text: str) -> Conflict | None:
    if node is None:
        return None
    keys = node.args.get("conflict_keys") or []
    action = str(node.args.get("action") or "").upper()
    where, assigned = node.args.get("where"), node.expressions
    reason = None
    if any(not isinstance(k.this, exp.Column) or k.args.get("desc") for k in keys):
        reason = "ON CONFLICT names the columns of the primary key"
    elif action not in ("DO NOTHING", "DO UPDATE") or bool(assigned) != (action == "DO UPDATE"):
        reason = "ON CONFLICT needs DO NOTHING, or DO UPDATE SET column = value"
    elif where is not None and not assigned:
        reason = "DO NOTHING has no condition"
    if reason is not None:
        raise InvalidSyntax(place(text, node), reason=reason)
    columns = tuple(k.this for k in keys)
    settings = tuple((column, _qualified(value, alias)) for column, value in (_setting(e, text) for e in assigned))
    return Conflict(columns, settings, None if where is None else _qualified(where.this, alias))


def _qualified(value: Expression, alias: str) -> Expression:
    """A value in which bare columns are those of the row that is there; columns of subqueries are left alone."""
    tree = exp.Tuple(expressions=[value.copy()])
    for node in list(tree.walk(prune=lambda n: isinstance(n, exp.Query))):
        if isinstance(node, exp.Column) and not node.table and node.name.upper() != "DEFAULT":
            node.set("table", exp.to_identifier(alias, quoted=True))
    qualified: Expression = tree.expressions[0].pop()
    return qualified


def read_update(tree: exp.Update, text: str) -> Update:
    table, alias, at = _target(tree.this, text)
    where = tree.args.get("where")
    settings = tuple(_setting(e, text) for e in tree.expressions)
    if not settings:
        raise InvalidSyntax(at, reason="UPDATE needs a column and a value behind SET")
    return Update(table, alias, settings, where.this if where else None, text, at)


def read_delete(tree: exp.Delete, text: str) -> Delete:
    table, alias, at = _target(tree.this, text)
    where = tree.args.get("where")
    return Delete(table, alias, where.this if where else None, text, at)


def read_truncate(tree: exp.TruncateTable, text: str) -> Delete:
    """``TRUNCATE TABLE table`` is a DELETE of all rows."""
    if len(tree.expressions) > 1:
        at = place(text, tree.expressions[1])
        raise UnsupportedStatement(at, "write a statement for each", statement="TRUNCATE TABLE of several tables")
    table, alias, at = _target(tree.expressions[0], text)
    return Delete(table, alias, None, text, at)


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
        case exp.Update() if kind != "unmatched" and not then.args.get("where"):
            if any(isinstance(e, exp.Star) for e in then.expressions):
                return Clause(kind, condition, "update", every=True)
            return Clause(kind, condition, "update", tuple(_setting(e, text) for e in then.expressions))
        case exp.Insert(this=exp.Star()) if kind == "unmatched":
            return Clause(kind, condition, "insert", every=True)
        case exp.Insert(this=exp.Tuple(), expression=exp.Tuple()) if kind == "unmatched":
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
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        statement = "a change of a table under other names of its columns"
        raise UnsupportedStatement(place(text, alias), "leave out the names behind the alias", statement=statement)
    return name, table.alias or name, place(text, table.this)


def _setting(node: Expression, text: str) -> Setting:
    if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
        raise InvalidSyntax(place(text, node), reason="SET takes column = value")
    return node.this, node.expression

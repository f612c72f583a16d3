"""Definitions of tables: what CREATE TABLE and ALTER TABLE say.

Conditions and defaults stay trees here, so that what is wrong with them can be shown in the user's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tidings.errors import InvalidSyntax, Place, UnknownColumn, UnsupportedStatement, UnsupportedType, closest
from tidings.ir import types
from tidings.ir.dialect import DIALECT, ComesAfter
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.ir.standard_form import After
from tidings.lang.sql.names import check_names, relation_name
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.text_lengths import declared_length, is_length_check, length_check


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE TABLE [IF NOT EXISTS] name (column type [constraints], …[, constraints]) [WITH (options)]``."""

    name: str
    columns: tuple[Column, ...]
    if_absent: bool
    text: str
    key: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    checks: tuple[Expression, ...] = ()
    defaults: tuple[tuple[str, Expression], ...] = ()
    append_only: bool = False
    time_column: str | None = None
    after: tuple[After, ...] = ()


@dataclass(frozen=True, slots=True)
class AddColumns:
    """``ALTER TABLE name ADD COLUMN column type [NOT NULL] [DEFAULT value]``, one or more of them."""

    table: str
    columns: tuple[Column, ...]
    required: tuple[str, ...]
    defaults: tuple[tuple[str, Expression], ...]
    text: str
    place: Place | None
    checks: tuple[Expression, ...] = ()
    """What the lengths of added texts demand."""


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """``ALTER TABLE name ALTER COLUMN column TYPE type``, for a type that has all values of the old one."""

    table: str
    column: str
    type: str
    length: int | None
    """How long a text may be; None if that is open, or if it is no text."""
    place: Place | None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """``ALTER TABLE name RENAME COLUMN old TO new``."""

    table: str
    old: str
    new: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class DropColumns:
    """``ALTER TABLE name DROP COLUMN [IF EXISTS] column``, one or more of them."""

    table: str
    columns: tuple[tuple[str, bool], ...]
    """Their names, and whether one that is not there is passed over."""
    place: Place | None


@dataclass(frozen=True, slots=True)
class RenameTable:
    """``ALTER TABLE name RENAME TO new``."""

    table: str
    new: str
    place: Place | None


@dataclass(slots=True)
class _Demands:
    """What is gathered about a table, part by part."""

    text: str
    columns: list[Column] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    checks: list[Expression] = field(default_factory=list)
    defaults: list[tuple[str, Expression]] = field(default_factory=list)
    after: list[After] = field(default_factory=list)

    def column(self, definition: Expression) -> None:
        """A column and what it demands."""
        at = place(self.text, definition)
        if isinstance(definition, exp.Identifier) or definition.args.get("kind", definition) is None:
            raise InvalidSyntax(at, reason="every column of a table needs a type")
        if not isinstance(definition, exp.ColumnDef) or not isinstance(definition.args.get("kind"), exp.DataType):
            raise _refused(definition, self.text)
        type, length = _type(definition.args["kind"], at)
        self.columns.append(Column(definition.name, type))
        if length is not None:
            self.checks.append(length_check(definition.name, length))
        for constraint in definition.args.get("constraints") or []:
            self._of_column(definition.name, constraint)

    def _of_column(self, name: str, constraint: Expression) -> None:
        match constraint.args.get("kind"):
            case exp.PrimaryKeyColumnConstraint():
                self.keyed([name], constraint)
            case exp.NotNullColumnConstraint() as kind:
                if not kind.args.get("allow_null"):
                    self.required.append(name)
            case exp.DefaultColumnConstraint() as kind:
                self.defaults.append((name, kind.this))
            case exp.CheckColumnConstraint() as kind:
                self.checks.append(kind.this)
            case exp.CommentColumnConstraint():
                pass
            case _:
                raise _refused(constraint, self.text)

    def of_table(self, constraint: Expression) -> None:
        """A constraint of the whole table, outside its columns."""
        match constraint:
            case exp.PrimaryKey():
                self.keyed([_column_name(e) for e in constraint.expressions], constraint)
            case exp.CheckColumnConstraint():
                self.checks.append(constraint.this)
            case exp.Constraint(expressions=[ComesAfter() as fact]):
                columns = tuple(self.known(c.name, c) for c in fact.expressions)
                named = tuple(c.name for c in fact.args["named"])
                if len(columns) != len(named):
                    raise InvalidSyntax(place(self.text, constraint), reason="AFTER has as many columns on both sides")
                relation = relation_name(fact.this, self.text)
                self.after.append(After(constraint.name, columns, relation, named, not fact.args.get("trusted")))
            case exp.Constraint():
                for part in constraint.expressions:
                    self.of_table(part)
            case _:
                raise _refused(constraint, self.text)

    def keyed(self, names: list[str], node: Expression) -> None:
        if self.key:
            raise InvalidSyntax(place(self.text, node), reason="a table has one primary key")
        self.key.extend(names)

    def known(self, name: str, node: Expression) -> str:
        """A column's name as it was declared."""
        declared = next((c.name for c in self.columns if c.name.lower() == name.lower()), None)
        if declared is None:
            raise UnknownColumn(place(self.text, node), closest(name, [c.name for c in self.columns]), name=name)
        return declared


def read_create_table(tree: exp.Create, text: str) -> CreateTable:
    """What a CREATE TABLE declares."""
    name = relation_name(tree.this.this, text)
    parts = tree.this.expressions
    demands = _Demands(text)
    plain = (exp.PrimaryKey, exp.CheckColumnConstraint, exp.Constraint, exp.UniqueColumnConstraint, exp.ForeignKey)
    for part in sorted(parts, key=lambda part: isinstance(part, plain)):
        demands.of_table(part) if isinstance(part, plain) else demands.column(part)
    if not demands.columns:
        raise InvalidSyntax(place(text, tree), reason="a table needs columns")
    check_names([c.name for c in demands.columns], place(text, tree.this))
    key = tuple(demands.known(k, tree.this) for k in demands.key)
    for column in (c for c in demands.columns if c.name in key and not _may_be_key(c.type)):
        raise UnsupportedType(place(text, tree.this), "a key has columns of exact types", type=column.type)
    append_only, time = _options(tree, demands)
    required = tuple(dict.fromkeys([*key, *demands.required]))
    return CreateTable(
        name,
        tuple(demands.columns),
        bool(tree.args.get("exists")),
        text,
        key,
        required,
        tuple(demands.checks),
        tuple(demands.defaults),
        append_only,
        time,
        tuple(demands.after),
    )


def _may_be_key(type: str) -> bool:
    return type in types.EXACT or types.decimal(type) is not None


def _options(tree: exp.Create, demands: _Demands) -> tuple[bool, str | None]:
    """``append_only`` and ``time``, from WITH."""
    append_only, time = False, None
    for option in tree.args["properties"].expressions if tree.args.get("properties") else []:
        name = str(option.name).lower() if isinstance(option, exp.Property) else ""
        value = option.args.get("value")
        match name, value:
            case "append_only", exp.Boolean():
                append_only = bool(value.this)
            case "time", exp.Expr():
                time = demands.known(str(value.name), value)
            case _:
                hint = "the options of a table are append_only and time = column"
                words = option.sql(DIALECT, comments=False)
                raise UnsupportedStatement(place(demands.text, tree.this), hint, statement=f"CREATE TABLE with {words}")
    if time is not None:
        kind = next(c.type for c in demands.columns if c.name == time)
        if not append_only:
            raise InvalidSyntax(place(demands.text, tree.this), reason="time = column is for append_only tables")
        if kind not in ("timestamp", "timestamp_ntz", "date", "bigint"):
            raise InvalidSyntax(place(demands.text, tree.this), reason=f"{time} is {kind}, which is no instant")
    return append_only, time


def _type(node: exp.DataType, at: Place | None) -> tuple[str, int | None]:
    """A type of a column, and how long its texts may be."""
    length = declared_length(node)
    type = types.canonical(node) if length is None else "string"
    if not types.is_supported(type):
        raise UnsupportedType(at, type=type)
    return type, length


def read_alter(tree: exp.Alter, text: str) -> AddColumns | DropColumns | WidenColumn | RenameColumn | RenameTable:
    """What an ALTER TABLE changes."""
    table, at = relation_name(tree.this, text), place(text, tree.this)
    actions = tree.args["actions"]
    match actions:
        case [exp.AlterRename(this=new)]:
            return RenameTable(table, relation_name(new, text), at)
        case [exp.RenameColumn()]:
            (rename,) = actions
            old, new = rename.this, rename.args["to"]
            check_names([_column_name(new)], place(text, new))
            return RenameColumn(table, _column_name(old), _column_name(new), place(text, old))
        case [exp.AlterColumn(this=column, args={"dtype": exp.DataType() as kind})]:
            type, length = _type(kind, place(text, kind) or at)
            return WidenColumn(table, _column_name(column), type, length, place(text, column) or at)
        case [exp.Drop(), *_]:
            return DropColumns(table, tuple(pair for action in actions for pair in _dropped(action, text)), at)
        case _:
            return _added(table, list(_definitions(actions)), text, at)


def _dropped(action: Expression, text: str) -> Iterator[tuple[str, bool]]:
    """The columns that an action drops, and whether they need not be there."""
    is_column = isinstance(action, exp.Drop) and action.args.get("kind") in ("COLUMN", "COLUMNS")
    if not is_column or action.args.get("cascade"):
        raise _altered(action, text)
    for target in action.args["tables"]:
        names = target.expressions if isinstance(target, exp.Schema | exp.Tuple) else [target]
        yield from ((_column_name(name), bool(action.args.get("exists"))) for name in names)


def _definitions(actions: list[Expression]) -> Iterator[Expression]:
    for action in actions:
        yield from action.expressions if isinstance(action, exp.Schema) else [action]


def _added(table: str, definitions: list[Expression], text: str, at: Place | None) -> AddColumns:
    demands = _Demands(text)
    for definition in definitions:
        if not isinstance(definition, exp.ColumnDef) or definition.args.get("exists"):
            raise _altered(definition, text)
        demands.column(definition)
    if demands.key or not all(is_length_check(check) for check in demands.checks):
        raise UnsupportedStatement(at, _ALTER, statement="ALTER TABLE ADD COLUMN with PRIMARY KEY or CHECK")
    check_names([c.name for c in demands.columns], at)
    required, defaults = tuple(demands.required), tuple(demands.defaults)
    return AddColumns(table, tuple(demands.columns), required, defaults, text, at, tuple(demands.checks))


_ALTER = "known: ADD COLUMN with NOT NULL and DEFAULT, DROP COLUMN, ALTER COLUMN … TYPE …, RENAME COLUMN, RENAME TO"


def _altered(node: Expression, text: str) -> UnsupportedStatement:
    words = " ".join(node.sql(DIALECT, comments=False).split()[:3])
    return UnsupportedStatement(place(text, node), _ALTER, statement=f"ALTER TABLE {words}")


def _refused(constraint: Expression, text: str) -> UnsupportedStatement:
    hint = "known: PRIMARY KEY, NOT NULL, CHECK, DEFAULT and CONSTRAINT name (columns) AFTER table (columns)"
    words = " ".join(constraint.sql(DIALECT, comments=False).split()[:2])
    return UnsupportedStatement(place(text, constraint), hint, statement=f"CREATE TABLE with {words}")


def _column_name(node: Expression) -> str:
    return str(node.name)

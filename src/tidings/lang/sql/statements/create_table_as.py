"""``CREATE TABLE … AS query``: a table with the rows, and perhaps the columns, of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from tidings.errors import InvalidExpression, Place, UnsupportedStatement, UnsupportedType
from tidings.ir import types
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation
from tidings.lang.sql.names import check_names, relation_name
from tidings.lang.sql.parse import after_as, place
from tidings.lang.sql.statements.define import CreateTable, read_create_table
from tidings.lang.sql.statements.dml import Insert


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """``CREATE TABLE [IF NOT EXISTS] name [(names or definitions of columns)] AS query``."""

    name: str
    query: Expression
    text: str
    query_text: str
    if_absent: bool
    place: Place | None
    names: tuple[str, ...] = ()
    """Names of the columns; those of the query if there are none."""
    declared: CreateTable | None = None
    """What the table is declared to be; None if the query says it."""

    def table(self, plan: Relation) -> CreateTable:
        """The table to be created, for the plan of the query."""
        if self.declared is not None:
            return self.declared
        names = self.names or tuple(field.name for field in plan.fields)
        if len(names) != len(plan.fields):
            raise InvalidExpression(self.place, reason=f"{len(plan.fields)} values for {len(names)} columns")
        check_names(list(names), self.place)
        columns = tuple(Column(name, field.type) for name, field in zip(names, plan.fields, strict=True))
        for column in (c for c in columns if not types.is_supported(c.type)):
            hint = f"cast it to what {column.name} is to be"
            raise UnsupportedType(self.place, hint, type=column.type)
        return CreateTable(self.name, columns, self.if_absent, self.text)

    def insert(self) -> Insert:
        """The statement that gives the table its rows."""
        return Insert(self.name, (), self.query, self.text, self.place, self.name)


def read_create_table_as(tree: exp.Create, text: str, query_text: str) -> CreateTableAs:
    """What a CREATE TABLE with a query says."""
    schema = tree.this if isinstance(tree.this, exp.Schema) else None
    target = schema.this if schema is not None else tree.this
    parts = schema.expressions if schema is not None else []
    exists, at = bool(tree.args.get("exists")), place(text, target)
    created = CreateTableAs(relation_name(target, text), tree.expression, text, after_as(query_text), exists, at)
    if any(not isinstance(part, exp.Identifier) for part in parts):
        return replace(created, declared=read_create_table(tree, text), query_text=tree.expression.sql("spark"))
    if tree.args.get("properties"):
        hint = "declare the columns with their types, or leave out what stands before AS"
        raise UnsupportedStatement(at, hint, statement="CREATE TABLE AS with options")
    return replace(created, names=tuple(part.name for part in parts))

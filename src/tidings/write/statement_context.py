"""What a statement that changes rows has to work with: what INSERT, UPDATE, DELETE and MERGE have in common."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from tidings.engine.arrow import arrow_schema
from tidings.errors import InvalidExpression, UnknownColumn, closest
from tidings.ir.expression import Expression, cast
from tidings.ir.relation import Column, Item, Project, Relation
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.parse import parsed, place
from tidings.lang.sql.statements.dml import RowStatement, Setting
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StatementContext:
    """One statement that changes the rows of one table, in a transaction, at an instant."""

    workspace: Workspace
    table: Table
    statement: RowStatement
    now: int

    def column(self, node: Expression, alias: str) -> Column:
        """The column of the table that a tree names."""
        column = next((c for c in self.table.columns if c.name.lower() == node.name.lower()), None)
        of_another_table = isinstance(node, exp.Column) and node.table and node.table.lower() != alias.lower()
        if column is None or of_another_table:
            hint = closest(node.name, [c.name for c in self.table.columns])
            raise UnknownColumn(place(self.statement.text, node) or self.statement.place, hint, name=node.sql("spark"))
        return column

    def settings(self, settings: tuple[Setting, ...], alias: str) -> list[tuple[Column, Expression]]:
        """Columns and the values they get, with DEFAULT and the clock filled in."""
        by_column: dict[str, tuple[Column, Expression]] = {}
        for node, value in settings:
            column = self.column(node, alias)
            if column.name in by_column:
                raise InvalidExpression(place(self.statement.text, node), reason=f"{column.name} is given two values")
            by_column[column.name] = column, self.value(value, column)
        return list(by_column.values())

    def value(self, value: Expression, column: Column) -> Expression:
        """A value with DEFAULT and the clock filled in."""
        if is_default(value, self.table):
            texts = dict(self.table.constraints.defaults)
            value = parsed(texts[column.name]) if column.name in texts else exp.Null()
        return at_instant(value, self.now)

    def column_nodes(self, alias: str) -> list[Expression]:
        """The columns of the table, to be selected."""
        return [exp.column(exp.to_identifier(c.name, quoted=True), table=alias) for c in self.table.columns]

    def source(self, alias: str) -> exp.Table:
        """The table, to be selected from; it has the place of the statement's own mention of it."""
        name = exp.to_identifier(self.table.name, quoted=True)
        return exp.Table(this=name, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))

    def answer(self, query: exp.Query, columns: list[Column], known_rows: pa.Table | None = None) -> pa.Table:
        """The rows of a query, its values as the types of some columns and under their names, which are free here.

        ``known_rows`` are the rows of the table that matter to the query, where they have been looked up.
        """
        return self.answer_plan(self.workspace.parts.plans.bind(query, self.statement.text), columns, known_rows)

    def answer_plan(self, plan: Relation, columns: list[Column], known_rows: pa.Table | None = None) -> pa.Table:
        """The same of a plan."""
        names = [f"c{n}" for n in range(len(columns))]
        items = (
            Item(name, c.type, f.expression if f.type == c.type else cast(f.expression, c.type))
            for name, c, f in zip(names, columns, plan.fields, strict=True)
        )
        instead = {self.table.name: known_rows} if known_rows is not None else {}
        return self.workspace.answer(Project(plan, "changed", tuple(items)), self.now, instead)

    def rows(self, answer: pa.Table, new: dict[str, pa.ChunkedArray] | None = None) -> pa.Table:
        """The first columns of an answer as rows of the table, some of them with other values."""
        arrays = [
            (new or {}).get(c.name, answer.column(n) if n < answer.num_columns else None)
            for n, c in enumerate(self.table.columns)
        ]
        return pa.Table.from_arrays(arrays, schema=arrow_schema(self.table.columns))


def is_default(value: Expression, table: Table) -> bool:
    """Whether a value is the word DEFAULT."""
    if isinstance(value, exp.Var):
        return value.name.upper() == "DEFAULT"
    bare = isinstance(value, exp.Column) and not value.table and not value.this.args.get("quoted")
    known = any(c.name.lower() == "default" for c in table.columns)
    return bare and value.name.upper() == "DEFAULT" and not known


def named(nodes: list[Expression]) -> list[Expression]:
    """Items to be selected under names of which no two are the same."""
    return [node.copy().as_(f"c{n}") for n, node in enumerate(nodes)]

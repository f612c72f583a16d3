"""What a statement that changes rows has to work with: what INSERT, UPDATE, DELETE and MERGE have in common."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.ir.expression import Expression, cast
from tidings.ir.relation import Column, Item, Project, Relation
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statements.dml import RowStatement
from tidings.store.relation.table import Table
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StatementContext:
    """One statement that changes the rows of one table, in a transaction, at an instant."""

    workspace: Workspace
    table: Table
    target: Target

    @staticmethod
    def of(workspace: Workspace, table: Table, statement: RowStatement, now: int) -> StatementContext:
        """The context of a statement that is run now."""
        defaults = dict(table.constraints.defaults)
        return StatementContext(workspace, table, Target(statement, table.name, table.columns, defaults, now))

    def answer(self, query: Expression, columns: list[Column], known_rows: pa.Table | None = None) -> pa.Table:
        """The rows of a query, its values as the types of some columns and under their names, which are free here.

        ``known_rows`` are the rows of the table that matter to the query, where they have been looked up.
        """
        return self.answer_plan(self.bind(query), columns, known_rows)

    def bind(self, query: Expression) -> Relation:
        """The bound plan of a query."""
        text, may_read = self.target.statement.text, self.workspace.reads_session
        return self.workspace.parts.plans.bind(query, text, reads_session=may_read)

    def answer_plan(self, plan: Relation, columns: list[Column], known_rows: pa.Table | None = None) -> pa.Table:
        """The same of a plan."""
        names = [f"c{n}" for n in range(len(columns))]
        items = (
            Item(name, c.type, f.expression if f.type == c.type else cast(f.expression, c.type))
            for name, c, f in zip(names, columns, plan.fields, strict=True)
        )
        is_fragmented = self.workspace.parts.relations.fragments(self.table.name) is not None
        instead = {} if known_rows is None or is_fragmented else {self.table.name: known_rows}
        return self.workspace.answer(Project(plan, "changed", tuple(items)), self.target.now, instead)

    def rows(self, answer: pa.Table, new: dict[str, pa.ChunkedArray] | None = None) -> pa.Table:
        """The first columns of an answer as rows of the table, some of them with other values."""
        arrays = [
            (new or {}).get(c.name, answer.column(n) if n < answer.num_columns else None)
            for n, c in enumerate(self.table.columns)
        ]
        return pa.Table.from_arrays(arrays, schema=arrow_schema(self.table.columns))

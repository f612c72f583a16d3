"""What continuous queries depend on: it may not be dropped or renamed, nor altered or replaced so that they break."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.continuous.query import ANSWERS, ContinuousQuery, answer_columns
from tidings.continuous.registry import QueryRegistry
from tidings.define.column_use import columns_read
from tidings.define.tables import columns_to_drop
from tidings.errors import BreaksViews, ColumnInUse, DependentObjects, TidingsError, UnsupportedStatement
from tidings.lang.sql import statement as sql
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class QueryDependencies:
    """Protects what the continuous queries of one database depend on."""

    registry: QueryRegistry

    def dependents(self, relation: str) -> list[ContinuousQuery]:
        """The queries that read a relation, directly or through views."""
        if not self.registry.records:
            return []
        name = relation.lower()
        return [query for query in self.registry.queries() if name in {below.lower() for below in query.below}]

    def altered_by(self, statement: sql.Statement) -> list[ContinuousQuery]:
        """The queries whose meaning a statement may change."""
        match statement:
            case sql.AddColumns() | sql.DropColumns() | sql.WidenColumn():
                return self.dependents(statement.table)
            case sql.CreateView(replace=True):
                return self.dependents(statement.name)
            case _:
                return []

    def require_free(self, relation: str, change: str) -> None:
        """Refuse to drop or rename a relation that continuous queries read."""
        queries = self.dependents(relation)
        if queries:
            listed = ", ".join(f"continuous query {name}" for name in sorted(q.name for q in queries))
            raise DependentObjects(None, "drop them first", name=relation, change=change, dependents=listed)

    def check_definition(self, statement: sql.Statement) -> None:
        """Refuse a statement that takes away what continuous queries depend on, or alters their answers."""
        match statement:
            case sql.Drop():
                for name in statement.names:
                    self._check_answers(name, f"DROP {statement.kind}")
                    self.require_free(name, "dropped")
            case sql.RenameTable() | sql.RenameColumn():
                self._check_answers(statement.table, "ALTER TABLE")
                self.require_free(statement.table, "renamed")
            case sql.AddColumns() | sql.WidenColumn():
                self._check_answers(statement.table, "ALTER TABLE")
            case sql.DropColumns():
                self._check_answers(statement.table, "ALTER TABLE")
                self._check_dropped(statement)
            case _:
                pass

    def _check_answers(self, name: str, words: str) -> None:
        table = self.registry.relations.find(name)
        if isinstance(table, Table) and table.role == ANSWERS:
            hint = "use DROP CONTINUOUS QUERY or CREATE OR REPLACE CONTINUOUS QUERY"
            raise UnsupportedStatement(None, hint, statement=f"{words} of the answers of {table.name}")

    def _check_dropped(self, statement: sql.DropColumns) -> None:
        """Refuse to drop columns that continuous queries use."""
        table = self.registry.relations.find(statement.table)
        if not isinstance(table, Table):
            return
        for column in columns_to_drop(table, statement):
            users = [q.name for q in self.dependents(table.name) if column in columns_read(q.plan, table.name)]
            if users:
                listed = ", ".join(f"continuous query {name}" for name in sorted(users))
                raise ColumnInUse(statement.place, column=column, table=table.name, users=listed)

    def check_change(self, name: str, changed: Relations) -> None:
        """Refuse a change of a relation that breaks queries; ``changed`` are the relations with the change made."""
        broken: dict[str, str] = {}
        for query in self.dependents(name):
            try:
                plan = self.registry.bound_plan(query.statement, changed)
            except TidingsError as error:
                broken[f"continuous query {query.name}"] = error.message
                continue
            if answer_columns(plan) != query.answers.columns:
                broken[f"continuous query {query.name}"] = "its columns would be others"
        if broken:
            raise BreaksViews(name=name, dependents=", ".join(broken), reason="; ".join(broken.values()))

"""Runs the statements that define: tables and views are created, altered and dropped.

A name that is altered or dropped, and one that is given to something else, begins anew: positions of subscribers in the
changes of what had it are of no use any more.  That is recorded in the transaction of the catalog that alters or drops;
a statement that is refused leaves positions as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tidings.compiled import CompiledPlans
from tidings.define.fragments import FragmentedTables
from tidings.define.replacement import ReplacementOutcome
from tidings.define.tables import Tables
from tidings.define.views import Views
from tidings.lang.sql import statement
from tidings.store.relation.relations import Relations
from tidings.store.timeline import Timeline

DefinitionStatement: TypeAlias = (
    statement.CreateTable
    | statement.CreateFragmented
    | statement.CreateView
    | statement.AddColumns
    | statement.DropColumns
    | statement.WidenColumn
    | statement.RenameColumn
    | statement.RenameTable
    | statement.Drop
)


@dataclass(frozen=True, slots=True)
class DefinitionStatements:
    """Runs statements that define."""

    relations: Relations
    tables: Tables
    views: Views
    timeline: Timeline
    compiled: CompiledPlans

    @property
    def fragmented(self) -> FragmentedTables:
        """Makes fragmented tables."""
        return FragmentedTables(self.views.scheduler, self.tables.evaluator, self.views.binder, self.timeline)

    def run(self, definition: DefinitionStatement) -> list[ReplacementOutcome]:
        """Do what a statement says; what became of the parts of a view that it replaces."""
        outcomes: list[ReplacementOutcome] = []
        match definition:
            case statement.CreateTable() | statement.CreateFragmented() | statement.CreateView() if self._is_there(
                definition
            ):
                return []
            case statement.CreateTable():
                self.tables.create(definition)
            case statement.CreateFragmented():
                self.fragmented.create(definition)
            case statement.CreateView():
                outcomes = self.views.create(definition)
            case statement.AddColumns() | statement.DropColumns() | statement.WidenColumn() | statement.RenameColumn():
                with self.timeline.redefining([definition.table]):
                    self.tables.alter(definition)
            case statement.RenameTable():
                with self.timeline.redefining([definition.table, definition.new]):
                    self.tables.alter(definition)
            case statement.Drop():
                self._drop(definition)
            case _:
                assert_never(definition)
        self.compiled.forget()
        return outcomes

    def _is_there(self, definition: statement.CreateTable | statement.CreateFragmented | statement.CreateView) -> bool:
        """Whether a statement with IF NOT EXISTS has nothing to do."""
        return definition.if_absent and self.relations.find(definition.name) is not None

    def _drop(self, drop: statement.Drop) -> None:
        for name in drop.names:
            if drop.if_exists and self.relations.find(name) is None:
                continue
            relations = self.tables.to_drop(name, drop.kind, cascade=drop.cascade)
            with self.timeline.redefining([relation.name for relation in relations]):
                self.tables.drop(relations)
            self.compiled.forget()

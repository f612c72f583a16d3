"""Statements that define: tables and views are made, altered and dropped.

A name that is altered or dropped, and one that is given to something else, begins anew: positions of subscribers in the
changes of what had it are of no use any more.  That is noted in the transaction of the catalog that alters or drops; a
statement that is refused leaves positions as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from tidings.compiled import CompiledPlans
from tidings.define.tables import Tables
from tidings.define.views import ReplacementOutcome, Views
from tidings.lang.sql import statement
from tidings.store.relation.relations import Relations
from tidings.store.timeline import Timeline

Definition: TypeAlias = (
    statement.CreateTable
    | statement.CreateView
    | statement.AddColumns
    | statement.RenameColumn
    | statement.RenameTable
    | statement.Drop
)


@dataclass(frozen=True, slots=True)
class Definitions:
    """Runs definitions."""

    relations: Relations
    tables: Tables
    views: Views
    timeline: Timeline
    compiled: CompiledPlans

    def run(self, read: Definition) -> list[ReplacementOutcome]:
        """Do what a statement says; what became of a view that it replaces."""
        outcomes: list[ReplacementOutcome] = []
        match read:
            case statement.CreateTable() | statement.CreateView() if read.if_absent and self.relations.find(read.name):
                return []
            case statement.CreateTable():
                self.tables.create(read)
            case statement.CreateView():
                outcomes = self.views.create(read)
            case statement.AddColumns() | statement.RenameColumn() | statement.RenameTable():
                names = [read.table, read.new] if isinstance(read, statement.RenameTable) else [read.table]
                with self.timeline.beginning_anew(names):
                    self.tables.alter(read)
            case statement.Drop():
                self._drop(read)
            case _:
                assert_never(read)
        self.compiled.forget()
        return outcomes

    def _drop(self, read: statement.Drop) -> None:
        for name in read.names:
            if read.if_exists and self.relations.find(name) is None:
                continue
            dropped = self.tables.to_drop(name, read.kind, cascade=read.cascade)
            with self.timeline.beginning_anew([relation.name for relation in dropped]):
                self.tables.drop(dropped)
            self.compiled.forget()

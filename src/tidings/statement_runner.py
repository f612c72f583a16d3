"""Runs the statements of ``db.sql``: each kind goes to the package that knows it."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.define.statements import Definitions
from tidings.define.views import as_table
from tidings.lang.sql import statement as sql
from tidings.maintenance import Maintenance
from tidings.read.answers import Answers
from tidings.result import Result
from tidings.rules.registry import RuleRegistry
from tidings.rules.silence_statements import SilenceStatements
from tidings.rules.statements import RuleStatements
from tidings.store.vacuum import GRACE
from tidings.write import statements
from tidings.write.workspace import Workspace, WriteParts


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Runs statements on one database."""

    write: WriteParts
    answers: Answers
    definitions: Definitions
    registry: RuleRegistry
    maintenance: Maintenance

    def run(self, statement: sql.Statement) -> Result | None:
        """Run one statement; returns the rows of a query, and a report where the statement has one."""
        if not isinstance(statement, sql.Query):
            self.maintenance.storage.require_writer()
        match statement:
            case sql.Insert() | sql.Update() | sql.Delete() | sql.Merge():
                with Workspace(self.write, self.registry.hook_for) as workspace:
                    statements.run(workspace, statement)
            case (
                sql.CreateRule()
                | sql.DropRule()
                | sql.SwitchRule()
                | sql.ActivateRule()
                | sql.CreateEvent()
                | sql.DropEvent()
                | sql.Signal()
            ):
                RuleStatements(self.registry).run(statement)
            case sql.SilenceRule() | sql.UnsilenceRule():
                SilenceStatements(self.registry).run(statement)
            case sql.RefreshView():
                self.maintenance.refresh(statement.name)
            case sql.Vacuum():
                return Result(self.maintenance.vacuum(GRACE).to_arrow())
            case sql.Query():
                plan = self.write.plans.bind(statement.query, statement.text, query_text=statement.query_text)
                return self.answers.now(plan)
            case _:
                self.registry.check_definition(statement)
                outcomes = self.definitions.run(statement)
                return Result(as_table(outcomes)) if outcomes else None
        return None

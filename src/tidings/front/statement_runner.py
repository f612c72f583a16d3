"""Runs the statements of ``db.sql``: each kind goes to the part that knows it."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.continuous.statements import ContinuousStatements
from tidings.define.replacement import as_table
from tidings.define.statements import DefinitionStatements
from tidings.errors import UnsupportedStatement
from tidings.front.check import DatabaseCheck, Finding
from tidings.front.check import as_table as findings_table
from tidings.front.create_table_as import create_table_as
from tidings.front.maintenance import Maintenance
from tidings.front.show_statements import ShowStatements
from tidings.lang.sql import statement as sql
from tidings.read.one_time_queries import OneTimeQueries
from tidings.read.rewritings import Rewritings
from tidings.result import Result
from tidings.rules.dependencies import RuleDependencies
from tidings.rules.silence_statements import SilenceStatements
from tidings.rules.statements import RuleStatements
from tidings.rules.transactions import RuleTransactions
from tidings.store.vacuum import GRACE
from tidings.write import copy, statements

_CHECK = sql.Vacuum(checks=True)


@dataclass(frozen=True, slots=True)
class StatementRunner:
    """Runs statements on one database; a plain record of those who run each kind."""

    queries: OneTimeQueries
    transactions: RuleTransactions
    definitions: DefinitionStatements
    dependencies: RuleDependencies
    rules: RuleStatements
    silences: SilenceStatements
    continuous: ContinuousStatements
    shows: ShowStatements
    rewritings: Rewritings
    maintenance: Maintenance

    def run(self, statement: sql.Statement) -> Result | None:
        """Run one statement; returns the rows of a query, and what others report: how many rows they touched."""
        reading = sql.Query | sql.ShowStatement | sql.ExplainContinuous | sql.AcceptClock
        if isinstance(statement, reading) or statement == _CHECK:
            return self._run(statement)
        self.maintenance.storage.require_writer()
        try:
            result = self._run(statement)
            self.maintenance.storage.journal.settlement.end()
            return result
        finally:
            self.maintenance.rules.wake_runner()

    def check(self) -> list[Finding]:
        """Read everything, and say what is wrong."""
        return DatabaseCheck(self.maintenance.storage, self.queries.answers).findings()

    def _maintain(self, statement: sql.RefreshView | sql.Vacuum | sql.AcceptClock) -> Result | None:
        """Bring a view up to date, remove what nobody needs, look whether everything is whole, or accept the clock."""
        match statement:
            case sql.RefreshView():
                self.maintenance.refresh(statement.name)
            case sql.AcceptClock():
                self.maintenance.timeline.accept_clock()
            case sql.Vacuum(checks=True):
                return Result(findings_table(self.check()))
            case sql.Vacuum():
                return Result(self.maintenance.vacuum(GRACE).to_arrow())
        return None

    def _run(self, statement: sql.Statement) -> Result | None:
        match statement:
            case sql.Insert() | sql.Update() | sql.Delete() | sql.Merge():
                with self.transactions.begin() as workspace:
                    return statements.run(workspace, statement)
            case sql.CreateTableAs():
                self.continuous.before_definition(statement)
                return create_table_as(statement, self.queries.plans, self.definitions, self.transactions)
            case sql.Copy():
                with self.transactions.begin() as workspace:
                    return copy.run(workspace, statement)
            case (
                sql.CreateRule()
                | sql.DropRule()
                | sql.SwitchRule()
                | sql.ActivateRule()
                | sql.CreateEvent()
                | sql.DropEvent()
                | sql.Signal()
            ):
                self.rules.run(statement)
            case sql.SilenceRule() | sql.UnsilenceRule() | sql.EndSilence():
                self.silences.run(statement)
            case sql.CreateContinuousQuery() | sql.DropContinuousQuery() | sql.RefreshContinuousQuery():
                self.continuous.run(statement)
            case sql.RefreshView() | sql.Vacuum() | sql.AcceptClock():
                return self._maintain(statement)
            case sql.ShowNames() | sql.ShowCreate() | sql.Describe() | sql.ExplainRule():
                return self.shows.run(statement)
            case sql.ExplainContinuous():
                return Result(self.rewritings.explained(statement))
            case sql.Query():
                return self.queries.run(statement)
            case sql.BeginTransaction() | sql.CommitTransaction() | sql.RollbackTransaction():
                name = type(statement).__name__.removesuffix("Transaction").upper()
                raise UnsupportedStatement(None, "a text with BEGIN is run by db.sql()", statement=f"{name} alone")
            case _:
                self.continuous.before_definition(statement)
                self.dependencies.check_definition(statement)
                outcomes = self.definitions.run(statement)
                return Result(as_table(outcomes)) if outcomes else None
        return None

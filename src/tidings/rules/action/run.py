"""Runs actions: what a rule does with all its instances at once.

An action that changes rows does so in the transaction it runs in: the one that triggered it, or one of its own.
The instances are a relation named ``condition`` to its SQL, and a list of dictionaries to its procedure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.errors import InvalidRule, RuleRaised, UnknownProcedure
from tidings.lang.sql.context import Analyzer
from tidings.lang.sql.mentions import first_mention
from tidings.lang.sql.rules.arguments import argument_columns, arguments_query
from tidings.lang.sql.rules.condition import activations_of
from tidings.lang.sql.statements.action import Call, Modify, Raise, Send
from tidings.lang.sql.statements.dml import trees
from tidings.rules.action.check import CONDITION
from tidings.rules.action.procedures import Procedures, Rows
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table
from tidings.write import statements
from tidings.write.local_rows import with_rows, with_table
from tidings.write.transaction import Transaction
from tidings.write.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Actions:
    """Runs the actions of one database's rules."""

    analyzer: Analyzer
    procedures: Procedures = field(default_factory=Procedures)

    def missing_procedure(self, rule: Rule) -> UnknownProcedure | None:
        """The error of a rule whose procedure is not registered, or None."""
        if not isinstance(rule.action, Call) or rule.action.procedure in self.procedures:
            return None
        return self.procedures.unknown(rule.action.procedure)

    def run(self, rule: Rule, rows: pa.Table, workspace: Workspace) -> None:
        """Run the action of a rule for its instances, in a transaction."""
        action = rule.action
        match action:
            case Call():
                arguments = self._arguments(rule, action, rows, workspace)
                self.procedures.call(action.procedure, arguments, Transaction(workspace.for_action()))
            case Modify():
                statements.run(self._with_instances(rule, rows, workspace), action.change)
            case Raise():
                raise refusal(rule.name, action, rows)
            case Send():
                raise AssertionError("what is sent goes through the outbox")
            case _:
                assert_never(action)

    def check(self, rule: Rule, workspace: Workspace) -> None:
        """Bind the SQL of an action as when it runs, but with no instances, and run nothing; refused if that fails."""
        action, text, parts = rule.action, rule.statement.text, workspace.parts
        if not isinstance(action, Call | Modify):
            return
        for tree in action.arguments if isinstance(action, Call) else trees(action.change):
            mention = first_mention(tree, text, parts.relations.system_tables)
            if mention is not None:
                reason = f"its action reads {mention.written}, which cannot be read in a transaction"
                raise InvalidRule(mention.place, name=rule.name, reason=reason)
        if rule.statement.parameters:
            activations = Table(activations_of(rule.name), rule.statement.parameters, role="activations")
            workspace = Workspace(replace(parts, relations=with_table(parts.relations, activations)))
        action_workspace = self._with_instances(rule, arrow_schema(rule.columns).empty_table(), workspace)
        if isinstance(action, Modify):
            statements.check(action_workspace, action.change)
        elif argument_columns(action, rule.columns) is None:
            action_workspace.parts.plans.bind(arguments_query(action, CONDITION), text)

    def _arguments(self, rule: Rule, call: Call, rows: pa.Table, workspace: Workspace) -> Rows:
        """The rows a procedure is called with: the columns or expressions it asks for, or all columns."""
        if not call.arguments:
            return list(rows.to_pylist())
        columns = argument_columns(call, rule.columns)
        if columns is not None:
            return list(rows.select(columns).to_pylist())
        action_workspace = self._with_instances(rule, rows, workspace)
        plan = action_workspace.parts.plans.bind(arguments_query(call, CONDITION), rule.statement.text)
        return list(action_workspace.answer(plan, action_workspace.now()).to_pylist())

    def _with_instances(self, rule: Rule, rows: pa.Table, workspace: Workspace) -> Workspace:
        """The transaction as an action sees it, with the instances as one more relation."""
        return with_rows(workspace, CONDITION, rule.columns, rows)


def refusal(rule: str, action: Raise, rows: pa.Table) -> RuleRaised:
    """The error by which a rule refuses a transaction."""
    instances = rows.to_pylist()
    parameters = {"message": action.message, "rule": rule, "count": len(instances), "rows": instances}
    return RuleRaised(**parameters)

"""Runs CREATE TABLE … AS: the query is bound, the table made, and its rows inserted; if that fails, it goes again."""

from __future__ import annotations

from tidings.define.statements import DefinitionStatements
from tidings.lang.sql import statement as sql
from tidings.read.bound_plans import BoundPlans
from tidings.result import AffectedRows
from tidings.rules.transactions import RuleTransactions
from tidings.write import statements


def create_table_as(
    create: sql.CreateTableAs, plans: BoundPlans, definitions: DefinitionStatements, transactions: RuleTransactions
) -> AffectedRows:
    """Create a table with the rows of a query; how many those were."""
    if create.if_absent and plans.relations.find(create.name) is not None:
        return AffectedRows.of()
    plan = plans.bind(create.query, create.text, query_text=create.query_text, reads_session=True)
    definitions.run(create.table(plan))
    try:
        with transactions.begin() as workspace:
            return statements.run(workspace, create.insert())
    except BaseException:
        definitions.run(sql.Drop((create.name,), "TABLE", if_exists=True))
        raise

"""ON CONFLICT DO UPDATE, as expressions over pairs of rows, and as a MERGE of the rows that were to come."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.rows.target import columns_of
from tidings.lang.sql.statements.dml import Clause, Conflict, Insert, Merge

EXCLUDED = "excluded"
"""The row that was to be inserted."""


def over_pairs(value: Expression, columns: Sequence[Column]) -> Expression:
    """A value with the columns of ``excluded`` under the names they have beside those of the row that is there."""
    names = {c.name.lower(): c.name for c in columns}
    tree = exp.Tuple(expressions=[value.copy()])
    for node in list(tree.find_all(exp.Column)):
        if node.table.lower() == EXCLUDED and node.name.lower() in names:
            node.replace(exp.column(exp.to_identifier(f"{EXCLUDED}.{names[node.name.lower()]}", quoted=True)))
    over_pairs: Expression = tree.expressions[0].pop()
    return over_pairs


def merge_of_excluded(statement: Insert, conflict: Conflict, key: Sequence[str]) -> Merge:
    """The MERGE of a relation named ``excluded`` that updates the rows with the same keys."""
    columns = [Column(name, "") for name in key]
    pairs = zip(columns_of(statement.alias, columns), columns_of(EXCLUDED, columns), strict=True)
    equal = [exp.EQ(this=present, expression=excluded) for present, excluded in pairs]
    clause = Clause("matched", conflict.where, "update", conflict.settings)
    source = exp.Table(this=exp.to_identifier(EXCLUDED, quoted=True))
    return Merge(statement.table, statement.alias, source, exp.and_(*equal), (clause,), statement.text, statement.place)

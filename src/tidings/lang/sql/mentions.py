"""Which relations and columns statements mention, before they are bound."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import Place
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.dml import Insert, RowStatement, targets, trees


@dataclass(frozen=True, slots=True)
class Mention:
    """A relation as a query writes it, and where."""

    written: str
    place: Place | None


def first_mention(query: Expression, text: str, names: Container[str]) -> Mention | None:
    """The first of some relations that a query mentions; ``names`` are in lower case, with their schema if any."""
    for table in query.find_all(exp.Table):
        if ".".join(part.name for part in table.parts).lower() in names:
            return Mention(table.sql("spark"), place(text, table))
    return None


def mentioned(trees: Iterable[Expression]) -> set[str]:
    """The relations that queries or expressions mention, in lower case; not their common table expressions."""
    tables = [table for tree in trees for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return {".".join(p.name for p in table.parts).lower() for table in tables if not _is_common_expression(table)}


def _is_common_expression(table: exp.Table) -> bool:
    """Whether a name is that of a common table expression which can be seen where it stands."""
    node: Expression = table
    while node.parent is not None and not table.db:
        inside, node = node, node.parent
        clause = node if isinstance(node, exp.With) else node.args.get("with_")
        if clause is None or clause is inside:
            continue
        for expression in clause.expressions:
            if expression is inside:
                break
            if expression.alias.lower() == table.name.lower():
                return True
    return False


def may_use_column(change: RowStatement, table: str, column: str, others: Container[str]) -> bool:
    """Whether a statement that changes rows may read or write a column of a table.

    It goes by names: a column of the same name counts if the statement mentions the table, unless it is said to be of
    one of some other relations.
    """
    is_target = change.table.lower() == table.lower()
    parts = [*trees(change), *targets(change)]
    if not is_target and not any(t.name.lower() == table.lower() for tree in parts for t in tree.find_all(exp.Table)):
        return False
    if isinstance(change, Insert) and is_target and column.lower() in map(str.lower, change.columns or [column]):
        return True
    if any(tree.find(exp.Star) for tree in parts):
        return True
    columns = (node for tree in parts for node in tree.find_all(exp.Column))
    return any(node.name.lower() == column.lower() and node.table.lower() not in others for node in columns)

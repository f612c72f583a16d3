"""Which relations and columns statements mention, before they are bound."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import Place
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.dml import Insert, Merge, RowStatement, Update


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


def may_use_column(change: RowStatement, table: str, column: str, others: Container[str]) -> bool:
    """Whether a statement that changes rows may read or write a column of a table.

    It goes by names: a column of the same name counts if the statement mentions the table, unless it is said to be of
    one of some other relations.
    """
    is_target = change.table.lower() == table.lower()
    trees = list(_trees(change))
    if not is_target and not any(t.name.lower() == table.lower() for tree in trees for t in tree.find_all(exp.Table)):
        return False
    if isinstance(change, Insert) and is_target and column.lower() in map(str.lower, change.columns or [column]):
        return True
    if any(tree.find(exp.Star) for tree in trees):
        return True
    mentioned = (node for tree in trees for node in tree.find_all(exp.Column))
    return any(node.name.lower() == column.lower() and node.table.lower() not in others for node in mentioned)


def _trees(change: RowStatement) -> Iterator[Expression]:
    """The parts of a statement that mention columns and relations."""
    settings = change.settings if isinstance(change, Update) else ()
    parts: list[Expression | None] = []
    match change:
        case Insert():
            parts = [change.query]
        case Merge():
            parts = [change.source, change.on, *(clause.condition for clause in change.clauses)]
            settings = tuple(setting for clause in change.clauses for setting in clause.settings)
        case _:
            parts = [change.where]
    yield from (tree for tree in (*parts, *(tree for setting in settings for tree in setting)) if tree is not None)

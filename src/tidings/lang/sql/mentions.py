"""Which relations a query mentions, before it is bound."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from sqlglot import exp

from tidings.errors import Place
from tidings.ir.expression import Expression
from tidings.lang.sql.parse import place


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

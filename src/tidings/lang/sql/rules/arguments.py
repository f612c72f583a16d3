"""The arguments of ``CALL``: columns of the rule's rows, or expressions over them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tidings.errors import UnknownColumn, closest
from tidings.ir.expression import Expression
from tidings.ir.relation import Column
from tidings.lang.sql.parse import place
from tidings.lang.sql.statements.action import Call


def check_arguments(call: Call, columns: Sequence[Column], text: str) -> None:
    """Refuse arguments that mention columns the rows do not have."""
    names = [c.name for c in columns]
    lower_names = {n.lower() for n in names}
    for argument in call.arguments:
        for column in argument.find_all(exp.Column):
            if column.name.lower() not in lower_names:
                raise UnknownColumn(place(text, column), closest(column.name, names), name=column.name)


def argument_columns(call: Call, columns: Sequence[Column]) -> list[str] | None:
    """The columns that the arguments are, each once; None if one of them is another expression."""
    names = {c.name.lower(): c.name for c in columns}
    plain = [a.name.lower() for a in call.arguments if isinstance(a, exp.Column) and not a.table]
    if len(plain) < len(call.arguments) or not names.keys() >= set(plain):
        return None
    return list(dict.fromkeys(names[name] for name in plain))


def arguments_query(call: Call, relation: str) -> Expression:
    """The query that computes the arguments for each row of a relation."""
    return exp.select(*(argument.copy() for argument in call.arguments)).from_(relation)

"""INSERT: its columns, its constants, and the query for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tidings.analysis.constant import NO_VALUE, constant
from tidings.errors import UnknownColumn, closest
from tidings.ir.expression import Expression, cast
from tidings.ir.relation import Column
from tidings.lang.sql.instant import at_instant
from tidings.lang.sql.rows.target import Target
from tidings.lang.sql.statements.dml import Insert


def insert_columns(target: Target, statement: Insert) -> tuple[Column, ...]:
    """The columns that an INSERT fills: those it names, or all."""
    return tuple(_named_column(target, name) for name in statement.columns) or target.columns


def _named_column(target: Target, name: str) -> Column:
    column = next((c for c in target.columns if c.name.lower() == name.lower()), None)
    if column is None:
        raise UnknownColumn(target.statement.place, closest(name, [c.name for c in target.columns]), name=name)
    return column


def constant_rows(target: Target, query: Expression, columns: Sequence[Column]) -> list[list[Any]] | None:
    """The rows of VALUES if they are constants of the columns' own types, else None."""
    if not isinstance(query, exp.Values):
        return None
    rows = []
    for record in query.expressions:
        nodes = _values(record)
        if len(nodes) != len(columns):
            return None
        row = [constant(target.value(node, c), c.type) for node, c in zip(nodes, columns, strict=True)]
        if any(value is NO_VALUE for value in row):
            return None
        rows.append(row)
    return rows


def insert_query(target: Target, query: Expression, columns: Sequence[Column]) -> Expression:
    """The query of an INSERT with DEFAULT and the clock filled in, and a name for each item that has none."""
    return _with_names(_with_defaults(target, query, columns), columns)


def _with_defaults(target: Target, query: Expression, columns: Sequence[Column]) -> Expression:
    """A query with DEFAULT filled in where VALUES say it, and the clock everywhere."""
    if isinstance(query, exp.Values):
        query = query.copy()
        for record in query.expressions:
            for node, column in zip(_values(record), columns, strict=False):
                if target.is_default(node):
                    node.replace(cast(target.value(node, column), column.type))
    return at_instant(query, target.now)


def _with_names(query: Expression, columns: Sequence[Column]) -> Expression:
    """A SELECT whose unnamed items go by the names of the columns they fill, so that no two are called the same."""
    if not isinstance(query, exp.Select) or len(query.expressions) != len(columns):
        return query
    aliases = {i.alias.lower() for i in query.expressions if isinstance(i, exp.Alias)}
    if any(i.is_star for i in query.expressions) or aliases & {c.name.lower() for c in columns}:
        return query
    tree, items = query.copy(), []
    for item, column in zip(tree.expressions, columns, strict=True):
        items.append(item if isinstance(item, exp.Alias) else item.copy().as_(column.name, quoted=True))
    tree.set("expressions", items)
    return tree


def _values(record: Expression) -> list[Expression]:
    return list(record.expressions) if isinstance(record, exp.Tuple) else [record]

"""The rows that the WHERE of an UPDATE or DELETE selects: by a query, or by the keys it fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from sqlglot import exp

from tidings.analysis.constant import NO_VALUE, constant
from tidings.ir.expression import Expression, conjuncts
from tidings.ir.relation import Column
from tidings.lang.sql.rows.target import Target, with_distinct_names


def selection_query(target: Target, where: Expression | None, values: Sequence[Expression] = ()) -> exp.Select:
    """A query for the rows that a condition selects, and after their columns some values of each."""
    query = exp.select(*with_distinct_names([*target.column_nodes(), *values])).from_(target.source())
    return query.where(where) if where is not None else query


@dataclass(frozen=True, slots=True)
class FixedKeys:
    """The keys that rows must have for a condition to hold, and what it demands of them beyond that."""

    keys: list[tuple[Any, ...]]
    rest: list[Expression]


def fixed_keys(target: Target, where: Expression, key: Sequence[str], limit: int) -> FixedKeys | None:
    """The keys that a condition fixes; None if it leaves a column of the key open, or allows more than a limit."""
    columns = [c for name in key for c in target.columns if c.name == name]
    values: dict[str, list[Any]] = {}
    rest = []
    for part in conjuncts(where):
        column_values = _fixed_column(part.unnest(), target.alias, columns)
        if column_values is None or column_values[0] in values:
            rest.append(part)
        else:
            values[column_values[0]] = column_values[1]
    if any(c.name not in values for c in columns) or prod(len(values[c.name]) for c in columns) > limit:
        return None
    return FixedKeys(list(dict.fromkeys(product(*(values[c.name] for c in columns)))), rest)


def _fixed_column(part: Expression, alias: str, columns: Sequence[Column]) -> tuple[str, list[Any]] | None:
    """The column that an equality or IN with constants fixes, and the values it allows; NULL equals nothing."""
    match part:
        case exp.EQ():
            sides = [(part.left, [part.right]), (part.right, [part.left])]
        case exp.In() if part.expressions and not part.args.get("query"):
            sides = [(part.this, part.expressions)]
        case _:
            return None
    for node, values in sides:
        if not isinstance(node, exp.Column) or (node.table and node.table.lower() != alias.lower()):
            continue
        column = next((c for c in columns if c.name.lower() == node.name.lower()), None)
        if column is not None:
            constants = [constant(v, column.type) for v in values]
            if not any(v is NO_VALUE for v in constants):
                return column.name, [v for v in constants if v is not None]
    return None

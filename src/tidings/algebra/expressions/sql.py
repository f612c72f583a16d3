"""Expressions as SQL: relations are sets, so projections and unions are DISTINCT.

An operator of a user becomes a table function, ``FROM outliers(TABLE readings)``; its input must be a relation that
has a name.
"""

from __future__ import annotations

from typing import assert_never

from tidings.algebra.expressions.nodes import (
    AlgebraExpression,
    Applied,
    Joined,
    Projected,
    Renamed,
    Selected,
    Stored,
    Subtracted,
    United,
)
from tidings.errors import InvalidOperator


def to_sql(node: AlgebraExpression) -> str:
    """A query that any database of Tidings answers, with the attributes in the order that the expression has.

    >>> from tidings.algebra.expressions.sources import relation
    >>> print(to_sql(relation("emp", "name", "salary").select("salary > 32").project("name")))
    SELECT DISTINCT `name` FROM (SELECT `name`, `salary` FROM `emp`) AS r WHERE salary > 32
    """
    names = _listed(node.attributes)
    match node:
        case Stored():
            return f"SELECT {names} FROM {_quoted(node.name)}"
        case Selected():
            return f"SELECT {names} FROM ({to_sql(node.input)}) AS r WHERE {node.condition}"
        case Projected(Selected(below, condition), _):
            return f"SELECT DISTINCT {names} FROM ({to_sql(below)}) AS r WHERE {condition}"
        case Projected():
            return f"SELECT DISTINCT {names} FROM ({to_sql(node.input)}) AS r"
        case Renamed():
            items = (f"{_quoted(a)} AS {_quoted(node.mapping.get(a, a))}" for a in node.input.attributes)
            return f"SELECT {', '.join(items)} FROM ({to_sql(node.input)}) AS r"
        case Joined():
            return _joined(node)
        case United():
            return f"{to_sql(node.left)} UNION {_in_order(node.right, node.attributes)}"
        case Subtracted():
            return f"SELECT {names} FROM ({to_sql(node.left)}) AS r EXCEPT {_in_order(node.right, node.attributes)}"
        case Applied():
            return f"SELECT {names} FROM {_called(node)}"
        case _:
            assert_never(node)


def _joined(node: Joined) -> str:
    left, right = f"({to_sql(node.left)}) AS l", f"({to_sql(node.right)}) AS r"
    joined_by = " AND ".join(f"l.{_quoted(a)} = r.{_quoted(a)}" for a in node.shared)
    sides = f"{left} JOIN {right} ON {joined_by}" if joined_by else f"{left} CROSS JOIN {right}"
    items = ", ".join(f"{'l' if a in node.left.attributes else 'r'}.{_quoted(a)}" for a in node.attributes)
    if node.on is None:
        return f"SELECT {items} FROM {sides}"
    return f"SELECT {_listed(node.attributes)} FROM (SELECT {items} FROM {sides}) AS j WHERE {node.on}"


def _in_order(node: AlgebraExpression, attributes: tuple[str, ...]) -> str:
    return f"SELECT {_listed(attributes)} FROM ({to_sql(node)}) AS r"


def _called(node: Applied) -> str:
    arguments = []
    for below in node.inputs:
        if not isinstance(below, Stored):
            reason = "in SQL its input is a table or view by its name"
            raise InvalidOperator(None, "create a view of the expression", name=node.operator.name, reason=reason)
        arguments.append(f"TABLE {_quoted(below.name)}")
    return f"{_quoted(node.operator.name)}({', '.join(arguments)})"


def _listed(attributes: tuple[str, ...]) -> str:
    return ", ".join(map(_quoted, attributes))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

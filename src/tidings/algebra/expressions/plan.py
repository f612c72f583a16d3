"""From an expression to a plan of the kernel: the same IR that SQL is bound to.

Plans work on bags, expressions on sets.  So a projection is an aggregate without aggregates, and a union is one of
those over a union of bags.
"""

from __future__ import annotations

from itertools import count
from typing import assert_never

from sqlglot import exp

from tidings.algebra.expressions.condition import Condition
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
from tidings.errors import InvalidExpression, InvalidOperator
from tidings.ir.expression import Expression, conjuncts
from tidings.ir.relation import Aggregate, Column, Filter, Item, Join, Project, Relation, Scan, SetKind, SetOperation
from tidings.ir.relation import Union as BagUnion


def to_plan(node: AlgebraExpression) -> Relation:
    """The plan of an expression whose relations have types, as those of a database do."""
    return _Planner().plan(node)


class _Planner:
    """Plans the parts of one expression; every node gets an alias of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def plan(self, node: AlgebraExpression) -> Relation:
        """A plan with one field per attribute, in their order."""
        match node:
            case Stored():
                if not node.types:
                    hint = "take the relation from a database: relation(name, data=db)"
                    raise InvalidExpression(None, hint, reason=f"the types of {node.name} are not known")
                columns = tuple(map(Column, node.attributes, node.types))
                return Scan(node.name, self._alias(), columns)
            case Selected():
                below = self.plan(node.input)
                return Filter(below, _bound(node.condition, below))
            case Projected():
                below = self.plan(node.input)
                return Aggregate(below, self._alias(), _items(below, node.attributes), ())
            case Renamed():
                below = self.plan(node.input)
                items = (Item(n, f.type, f.expression) for n, f in zip(node.attributes, below.fields, strict=True))
                return Project(below, self._alias(), tuple(items))
            case Joined():
                return self._join(node)
            case United():
                left, right = self.plan(node.left), self._ordered(node.right, node.attributes)
                union = BagUnion((left, right), self._alias(), _columns(left))
                return Aggregate(union, self._alias(), _items(union, node.attributes), ())
            case Subtracted():
                left, right = self.plan(node.left), self._ordered(node.right, node.attributes)
                return SetOperation(SetKind.EXCEPT, False, left, right, self._alias(), _columns(left))
            case Applied():
                reason = "it is part of plans as a table function of SQL only"
                raise InvalidOperator(None, "use to_sql", name=node.operator.name, reason=reason)
            case _:
                assert_never(node)

    def _join(self, node: Joined) -> Relation:
        left, right = self.plan(node.left), self.plan(node.right)
        ours, theirs = ({f.name: f.expression for f in side.fields} for side in (left, right))
        joined_by = tuple(exp.EQ(this=ours[name].copy(), expression=theirs[name].copy()) for name in node.shared)
        fields = {f.name: f for f in (*right.fields, *left.fields)}
        items = tuple(Item(name, fields[name].type, fields[name].expression) for name in node.attributes)
        joined: Relation = Project(Join((left, right), joined_by), self._alias(), items)
        return joined if node.on is None else Filter(joined, _bound(node.on, joined))

    def _ordered(self, node: AlgebraExpression, attributes: tuple[str, ...]) -> Relation:
        plan = self.plan(node)
        return plan if node.attributes == attributes else Project(plan, self._alias(), _items(plan, attributes))

    def _alias(self) -> str:
        return f"r{next(self._numbers)}"


def _bound(condition: Condition, below: Relation) -> tuple[Expression, ...]:
    fields = {f.name: f.expression for f in below.fields}

    def bound(node: Expression) -> Expression:
        return fields[node.name].copy() if isinstance(node, exp.Column) else node

    return conjuncts(condition.tree.copy().transform(bound))


def _items(below: Relation, attributes: tuple[str, ...]) -> tuple[Item, ...]:
    fields = {f.name: f for f in below.fields}
    return tuple(Item(name, fields[name].type, fields[name].expression) for name in attributes)


def _columns(below: Relation) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type) for f in below.fields)

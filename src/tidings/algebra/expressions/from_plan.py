"""From a plan of the kernel to an expression, so that what was written in SQL can be computed with here.

Plans work on bags, expressions on sets: a projection or union that keeps duplicates is no expression, unless
something above it drops them.  Other operators of SQL, such as groupings and outer joins, are refused by name.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlglot import exp

from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.nodes import (
    AlgebraExpression,
    Joined,
    Projected,
    Renamed,
    Selected,
    Stored,
    Subtracted,
    United,
    inputs_of,
)
from tidings.algebra.expressions.sources import relation
from tidings.errors import InvalidExpression
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression, Ref, equality, ref
from tidings.ir.relation import (
    Aggregate,
    Filter,
    Item,
    Join,
    Project,
    Relation,
    Scan,
    SetKind,
    SetOperation,
)
from tidings.ir.relation import Union as BagUnion

Names: TypeAlias = dict[Ref, str]
"""Which attribute stands for a field of a plan."""


def from_plan(plan: Relation, database: Any = None) -> AlgebraExpression:
    """The expression that a plan is; its relations are those of the database, if there is one."""
    expression, names = _PlanReader(database).read(plan, distinct=False)
    targets = {names[field.ref]: field.name for field in plan.fields}
    if len(targets) < len(plan.fields):
        raise _refused("a column that is there twice", "name each column once")
    named = _renamed(expression, targets)
    order = tuple(field.name for field in plan.fields)
    return named if named.attributes == order else Projected(named, order)


class _PlanReader:
    """Reads one plan; attributes of different relations get different names."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._taken: set[str] = set()

    def read(self, plan: Relation, *, distinct: bool) -> tuple[AlgebraExpression, Names]:
        """The expression of a plan; ``distinct`` says that duplicates of it are dropped above."""
        match plan:
            case Scan():
                return self._scan(plan)
            case Filter():
                below, names = self.read(plan.input, distinct=distinct)
                for condition in plan.conditions:
                    below = Selected(below, _condition(condition, names))
                return below, names
            case Project():
                return self._project(plan.input, plan.alias, plan.items, distinct)
            case Aggregate() if not plan.aggregates:
                return self._project(plan.input, plan.alias, plan.keys, True, always=True)
            case Join():
                return self._join(plan, distinct)
            case BagUnion() if distinct:
                return self._union(plan)
            case BagUnion():
                raise _refused("a union that keeps duplicates", "write UNION instead of UNION ALL")
            case SetOperation(all=False):
                return self._set_operation(plan)
            case _:
                raise _refused(f"the operator {type(plan).__name__}", None)

    def _scan(self, plan: Scan) -> tuple[AlgebraExpression, Names]:
        names = tuple(c.name for c in plan.columns)
        leaf = Stored(plan.relation, names, tuple(c.type for c in plan.columns))
        if self._database is not None:
            leaf = relation(plan.relation, data=self._database)
        targets = {name: self._fresh(plan.alias, name) for name in leaf.attributes}
        return _renamed(leaf, targets), {(plan.alias, name): targets[name] for name in names}

    def _project(
        self, below: Relation, alias: str, items: tuple[Item, ...], distinct: bool, *, always: bool = False
    ) -> tuple[AlgebraExpression, Names]:
        expression, names = self.read(below, distinct=distinct)
        attributes = []
        for item in items:
            column = ref(item.expression.unnest())
            if column is None:
                raise _refused(f"the computed column {item.name}", "compute it in a view, and take that as a relation")
            attributes.append(names[column])
        kept = tuple(dict.fromkeys(attributes))
        if always or set(kept) != set(expression.attributes):
            if not distinct and not set(expression.attributes) <= _determined(expression, kept):
                raise _refused("a projection that keeps duplicates", "write SELECT DISTINCT")
            if set(kept) != set(expression.attributes) or not isinstance(expression, Projected | United):
                expression = Projected(expression, kept)
        return expression, {(alias, item.name): name for item, name in zip(items, attributes, strict=True)}

    def _join(self, plan: Join, distinct: bool) -> tuple[AlgebraExpression, Names]:
        expression, names = self.read(plan.inputs[0], distinct=distinct)
        waiting = list(plan.conditions)
        for other in plan.inputs[1:]:
            right, more = self.read(other, distinct=distinct)
            names = {**names, **more}
            ready = [c for c in waiting if all(r in names for r in map(ref, c.find_all(exp.Column)))]
            waiting = [c for c in waiting if c not in ready]
            on = Condition.all_of(_condition(c, names) for c in ready)
            expression = Joined(expression, right, on)
        return expression, names

    def _union(self, plan: BagUnion) -> tuple[AlgebraExpression, Names]:
        expression, names = self.read(plan.inputs[0], distinct=True)
        attributes = [names[f.ref] for f in plan.inputs[0].fields]
        for other in plan.inputs[1:]:
            expression = United(expression, self._like(other, attributes))
        return expression, {(plan.alias, c.name): a for c, a in zip(plan.columns, attributes, strict=True)}

    def _set_operation(self, plan: SetOperation) -> tuple[AlgebraExpression, Names]:
        left, names = self.read(plan.left, distinct=True)
        attributes = [names[f.ref] for f in plan.left.fields]
        rest = Subtracted(left, self._like(plan.right, attributes))
        expression = rest if plan.kind is SetKind.EXCEPT else Subtracted(left, rest)
        return expression, {(plan.alias, c.name): a for c, a in zip(plan.columns, attributes, strict=True)}

    def _like(self, plan: Relation, attributes: list[str]) -> AlgebraExpression:
        """A plan whose attributes get the names of another's, by their places."""
        expression, names = self.read(plan, distinct=True)
        own = [names[f.ref] for f in plan.fields]
        if len(set(own)) < len(own) or len(set(attributes)) < len(attributes):
            raise _refused("a column that is there twice", "name each column once")
        return _renamed(expression, dict(zip(own, attributes, strict=True)))

    def _fresh(self, alias: str, name: str) -> str:
        free = name
        while free in self._taken:
            free = f"{alias}_{free}"
        self._taken.add(free)
        return free


def _determined(expression: AlgebraExpression, kept: tuple[str, ...]) -> set[str]:
    """The attributes that have the value of one of some others, by the equalities that all tuples meet."""
    known = set(kept)
    equalities = _equalities(expression)
    while more := {b for pair in equalities for a, b in (pair, pair[::-1]) if a in known and b not in known}:
        known |= more
    return known


def _equalities(expression: AlgebraExpression) -> list[tuple[str, str]]:
    match expression:
        case Selected(_, condition) | Joined(_, _, condition):
            pairs = [pair for below in inputs_of(expression) for pair in _equalities(below)]
        case _:
            return []
    for part in condition.parts if condition is not None else ():
        sides = equality(part.tree)
        if sides is not None and all(isinstance(side, exp.Column) for side in sides[:2]):
            pairs.append((sides[0].name, sides[1].name))
    return pairs


def _renamed(expression: AlgebraExpression, targets: dict[str, str]) -> AlgebraExpression:
    names = tuple((old, new) for old, new in targets.items() if old != new)
    return Renamed(expression, names) if names else expression


def _condition(condition: Expression, names: Names) -> Condition:
    def named(node: Expression) -> Expression:
        column = ref(node)
        return node if column is None else exp.column(exp.to_identifier(names[column], quoted=True))

    return Condition.of(condition.copy().transform(named).sql(DIALECT))


def _refused(what: str, hint: str | None) -> InvalidExpression:
    return InvalidExpression(None, hint, reason=f"{what} is not part of this algebra of sets")

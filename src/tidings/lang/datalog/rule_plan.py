"""A rule as a plan: its positive literals joined, its negated ones as anti joins, its head projected.

    p(x, y) :- q(x, z), r(z, y), !s(y), x < 3.      π_{x, y}(σ_{x < 3}(q ⋈_{z} r) ▷_{y} s)

Where a variable stands twice the values are compared with ``<=>``: NULL is a value like any other.  The rows may have
duplicates; whoever needs a set makes them distinct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from tidings.ir.expression import Expression, Ref, cast, column, operand, substitute
from tidings.ir.relation import Aggregate, Column, Field, Filter, Item, Join, Project, Relation, SemiJoin, Values
from tidings.ir.rule import VARIABLES, DatalogAtom, DatalogRule, is_any, variable_name

PredicateRows: TypeAlias = Callable[[int, str], Relation]
"""The rows of the literal of a number in a rule's body, under an alias; its columns are those of the predicate."""


def rule_plan(rule: DatalogRule, rows: PredicateRows, columns: tuple[Column, ...], alias: str) -> Project:
    """The rows that a rule gives for its head, under the head's columns."""
    body, bound = body_plan(rule, rows, alias)
    items = []
    for term, target in zip(rule.head.terms, columns, strict=True):
        value = substitute(term, bound)
        types = {f.ref: f.type for f in body.fields}
        reference = (value.table, value.name) if isinstance(value, exp.Column) else None
        same = reference is not None and types.get(reference) == target.type
        items.append(Item(target.name, target.type, value if same else cast(value, target.type)))
    return Project(body, alias, tuple(items))


def body_plan(rule: DatalogRule, rows: PredicateRows, alias: str) -> tuple[Relation, dict[Ref, Expression]]:
    """The combinations of rows for which the body holds, and where each variable's value is."""
    bound: dict[Ref, Expression] = {}
    inputs: list[Relation] = []
    matches: list[tuple[Expression, Expression]] = []
    for number, literal in enumerate(rule.body):
        if not literal.negated:
            relation = rows(number, f"{alias}_{number}")
            inputs.append(relation)
            matches += _matched(literal.atom, relation.fields, bound)
    conditions = [_same(value, substitute(term, bound)) for value, term in matches]
    conditions += [substitute(c, bound) for c in rule.conditions]
    plan = _joined(inputs, tuple(conditions), alias)
    for number, literal in enumerate(rule.body):
        if literal.negated:
            relation = rows(number, f"{alias}_{number}")
            tests = tuple(
                _same(field.expression, substitute(term, bound))
                for field, term in zip(relation.fields, literal.atom.terms, strict=True)
                if not is_any(term)
            )
            plan = SemiJoin(plan, relation, tests, anti=True)
    return plan, bound


def distinct(plan: Relation, alias: str) -> Aggregate:
    """Each row once."""
    return Aggregate(plan, alias, tuple(Item(f.name, f.type, f.expression) for f in plan.fields), ())


def _matched(
    atom: DatalogAtom, fields: tuple[Field, ...], bound: dict[Ref, Expression]
) -> list[tuple[Expression, Expression]]:
    """What has to be the same for a row to match an atom; variables that are new are bound to its columns."""
    matches: list[tuple[Expression, Expression]] = []
    for field, term in zip(fields, atom.terms, strict=True):
        if is_any(term):
            continue
        name = variable_name(term)
        if name is not None and (VARIABLES, name) not in bound:
            bound[VARIABLES, name] = field.expression
        else:
            matches.append((field.expression, term))
    return matches


def _same(left: Expression, right: Expression) -> Expression:
    return exp.NullSafeEQ(this=operand(left), expression=operand(right))


def _joined(inputs: list[Relation], conditions: tuple[Expression, ...], alias: str) -> Relation:
    if not inputs:
        plan: Relation = Values(f"{alias}_fact", (Column("one", "int"),), ((exp.Literal.number(1),),))
        return Filter(plan, conditions) if conditions else plan
    if len(inputs) > 1:
        return Join(tuple(inputs), conditions)
    return Filter(inputs[0], conditions) if conditions else inputs[0]


def renamed(plan: Relation, alias: str, columns: tuple[Column, ...]) -> Project:
    """A plan's columns by position under other names and one alias."""
    items = (Item(c.name, c.type, f.expression) for c, f in zip(columns, plan.fields, strict=True))
    return Project(plan, alias, tuple(items))


def as_columns(fields: tuple[Field, ...]) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type) for f in fields)


def reference(alias: str, target: Column) -> Item:
    """A column handed on."""
    return Item(target.name, target.type, column(alias, target.name))

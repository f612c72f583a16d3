"""Leave out the branches of unions that no row can come from: ``σ_p(A ⊎ σ_q(B)) = σ_p(A)`` where p and q contradict.

A query of a fragmented table that asks for the rows of one fragment then reads that fragment alone.

Withheld where the conditions do not contradict each other by comparisons with constants alone, and across operators
that look at several rows together: ``count(*) > 0`` over a union says nothing of the rows of a branch.
"""

from __future__ import annotations

from dataclasses import replace

from tidings.analysis.contradiction import contradict
from tidings.ir.expression import Expression, aliases, substitute
from tidings.ir.relation import (
    Column,
    During,
    Filter,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    SemiJoin,
    Union,
    Values,
)
from tidings.ir.traverse import children, walk, with_children

_Conditions = tuple[Expression, ...]


def prune_branches(plan: Relation) -> Relation:
    """Leave out branches wherever they stand; the same object when there is none.

    >>> from tidings.ir.text import parse, show
    >>> low = "\\n      filter [t.a < 5]\\n        scan t t [a int]"
    >>> plan = parse("filter [w.a = 7]\\n  union w [a int]\\n    project x [a int := t.a]" + low
    ...              + "\\n    scan u u [a int]")
    >>> print(show(prune_branches(plan)))
    filter [w.a = 7]
      project w [a int := u.a]
        scan u u [a int]
    """
    if not any(isinstance(node, Union) for node in walk(plan)):
        return plan
    return _kept(plan, ())


def _kept(plan: Relation, conditions: _Conditions) -> Relation:
    """What is left of a plan of which only the rows that meet conditions matter; without rows if nothing is."""
    rest = _pruned(plan, conditions)
    return _without_rows(plan) if rest is None else rest


def _without_rows(plan: Relation) -> Relation:
    """A plan's columns without a row; the plan itself where they have several aliases."""
    if len({f.alias for f in plan.fields}) != 1:
        return plan
    return Values(plan.fields[0].alias, tuple(Column(f.name, f.type) for f in plan.fields), ())


def _pruned(plan: Relation, conditions: _Conditions) -> Relation | None:
    """What is left of a plan, or nothing if no row of it meets the conditions."""
    if conditions and contradict(conditions, {f.ref: f.type for f in plan.fields}):
        return None
    match plan:
        case Filter():
            below = _pruned(plan.input, (*conditions, *plan.conditions))
            return below if below is None else with_children(plan, (below,))
        case During():
            below = _pruned(plan.input, conditions)
            return below if below is None else with_children(plan, (below,))
        case Project():
            by = {(plan.alias, i.name): i.expression for i in plan.items}
            below = _pruned(plan.input, tuple(substitute(c, by) for c in conditions))
            return below if below is None else with_children(plan, (below,))
        case Join():
            met = (*conditions, *plan.conditions)
            if contradict(met, {f.ref: f.type for f in plan.fields}):
                return None
            inputs = [_pruned(i, _about(i, met)) for i in plan.inputs]
            parts = tuple(i for i in inputs if i is not None)
            return with_children(plan, parts) if len(parts) == len(inputs) else None
        case OuterJoin() | SemiJoin():
            left = _pruned(plan.left, _about(plan.left, conditions))
            return None if left is None else with_children(plan, (left, _kept(plan.right, ())))
        case Union():
            return _branches(plan, conditions)
        case _:
            return with_children(plan, tuple(_kept(child, ()) for child in children(plan)))


def _branches(union: Union, conditions: _Conditions) -> Relation | None:
    left = []
    for branch in union.inputs:
        by = {(union.alias, c.name): f.expression for c, f in zip(union.columns, branch.fields, strict=True)}
        rest = _pruned(branch, tuple(substitute(c, by) for c in conditions))
        if rest is not None:
            left.append(rest)
    if len(left) > 1 or len(union.inputs) == 1:
        is_same = len(left) == len(union.inputs) and all(a is b for a, b in zip(left, union.inputs, strict=True))
        return union if is_same else replace(union, inputs=tuple(left))
    if not left:
        return None
    items = (Item(c.name, c.type, f.expression) for c, f in zip(union.columns, left[0].fields, strict=True))
    return Project(left[0], union.alias, tuple(items))


def _about(plan: Relation, conditions: _Conditions) -> _Conditions:
    """The conditions that read a plan alone."""
    own = {f.alias for f in plan.fields}
    return tuple(c for c in conditions if aliases(c) and aliases(c) <= own)

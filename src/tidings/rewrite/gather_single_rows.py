"""Gather relations of exactly one row that are joined with others into one such relation.

    A ⋈ γ(B) ⋈ γ(C) ⋈ γ(D)  =  A ⋈ γ_{max}(π_{b, ∅, ∅} γ(B) ⊎ π_{∅, c, ∅} γ(C) ⊎ π_{∅, ∅, d} γ(D))

An aggregate without keys has one row, so the greatest value of a column of the union is the only one that is not NULL.
The differential of a join multiplies the versions of its inputs: with n changed totals and three rows for each that
makes 3ⁿ rows, nearly all of which cancel.  The union has 3·n.

Withheld for fewer than three such inputs, whose product is small; for nested types, which may have no greatest value;
for rows that may be missing, as below a limit, where the product is empty and the union is not.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from sqlglot import exp

from tidings.ir import types
from tidings.ir.expression import Expression, Ref, column, substitute, typed_null
from tidings.ir.relation import Aggregate, Column, Filter, Item, Join, Project, Relation, Union
from tidings.ir.traverse import rebuild

FEWEST = 3
"""Fewer inputs than this are left as they are."""


def gather_single_rows(plan: Relation) -> Relation:
    """Gather in every join below a projection or grouping; the same object when there is nothing to gather.

    >>> from tidings.ir.text import parse, show
    >>> total = "    aggregate {0} [] [n bigint := COUNT(*)]\\n      scan t t{0} [a int]"
    >>> totals = "\\n".join(map(total.format, "xyz"))
    >>> plan = parse("project r [n bigint := x.n + y.n + z.n]\\n  join []\\n" + totals)
    >>> print(show(gather_single_rows(plan)).splitlines()[0])
    project r [n bigint := x_gathered.v1 + x_gathered.v2 + x_gathered.v3]
    """
    return rebuild(plan, _gathered)


def _gathered(node: Relation) -> Relation:
    if not isinstance(node, Project | Aggregate) or not isinstance(node.input, Join):
        return node
    join = node.input
    single = [i for i in join.inputs if _is_single_row(i)]
    if len(single) < FEWEST:
        return node
    taken = {f.alias for f in join.fields}
    first = single[0].fields[0].alias
    alias = next(a for a in (f"{first}_gathered{n or ''}" for n in count()) if a not in taken)
    together, by = _together(single, alias)
    others = tuple(i for i in join.inputs if i not in single)
    conditions = tuple(substitute(c, by) for c in join.conditions)
    input: Relation = together
    if others:
        input = Join((*others, together), conditions)
    elif conditions:
        input = Filter(together, conditions)
    if isinstance(node, Project):
        return replace(node, input=input, items=_items(node.items, by))
    return replace(node, input=input, keys=_items(node.keys, by), aggregates=_items(node.aggregates, by))


def _is_single_row(plan: Relation) -> bool:
    """Whether a relation always has exactly one row, of values that can be compared."""
    while isinstance(plan, Project):
        plan = plan.input
    return isinstance(plan, Aggregate) and not plan.keys and not any(types.is_nested(f.type) for f in plan.fields)


def _together(single: list[Relation], alias: str) -> tuple[Aggregate, dict[Ref, Expression]]:
    """One relation with the columns of several, and what stands for each of them."""
    fields = [(n, f) for n, relation in enumerate(single) for f in relation.fields]
    columns = tuple(Column(f"v{n + 1}", f.type) for n, (_, f) in enumerate(fields))
    branches = []
    for place, relation in enumerate(single):
        values = (
            Item(c.name, c.type, f.expression if n == place else typed_null(c.type))
            for c, (n, f) in zip(columns, fields, strict=True)
        )
        branches.append(Project(relation, f"{alias}_{place + 1}", tuple(values)))
    every = f"{alias}_all"
    greatest = (Item(c.name, c.type, exp.Max(this=column(every, c.name))) for c in columns)
    together = Aggregate(Union(tuple(branches), every, columns), alias, (), tuple(greatest))
    return together, {f.ref: column(alias, c.name) for c, (_, f) in zip(columns, fields, strict=True)}


def _items(items: tuple[Item, ...], by: dict[Ref, Expression]) -> tuple[Item, ...]:
    return tuple(Item(i.name, i.type, substitute(i.expression, by)) for i in items)

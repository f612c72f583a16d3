"""Merge nested SELECT blocks into one projection over one join.

    π(σ(π(A) ⋈ π(B ⋈ C)))  =  π(σ(A ⋈ B ⋈ C))

Projections below a join or filter are substituted into the expressions above them, filters and inner joins are
gathered into one n-ary join.  Inner conditions keep their place before outer ones, so a guard such as ``x <> 0``
still stands before the division it protects.

Withheld:

- for large expressions: ``x + x`` over ``x + x`` over … doubles with every level (2**30 after thirty);
- for constant texts: ``n = s`` with ``'1' AS s`` below compares a column of texts with numbers, while ``n = '1'``
  casts the literal to the type of ``n``; Spark coerces the two differently.

Other constants are substituted as ``CAST(constant AS type)``: in ``d + 1`` Spark reads the literal as
``decimal(1,0)``, in ``d + x`` with ``1 AS x`` as ``decimal(10,0)``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.ir.expression import Expression, Ref, cast, refs, substitute
from tidings.ir.relation import Filter, Item, Join, Project, Relation
from tidings.ir.traverse import children, with_children

LARGEST = 64
"""Expressions of more tree nodes than this are not substituted."""


def merge_blocks(plan: Relation) -> Relation:
    """Merge every block of the plan; the same object when there was nothing to merge."""
    merged = _closed(plan)
    return plan if merged == plan else merged


def _closed(node: Relation) -> Relation:
    """The node with merged blocks below it, its own columns unchanged."""
    if isinstance(node, Project):
        core, by = _open(node.input)
        items = (Item(i.name, i.type, substitute(i.expression, by)) for i in node.items)
        return Project(core, node.alias, tuple(items))
    if isinstance(node, Filter | Join):
        core, by = _open(node)
        if not by:
            return core
    return with_children(node, tuple(map(_closed, children(node))))


def _open(node: Relation) -> tuple[Relation, Mapping[Ref, Expression]]:
    """The node without the projections at its top, and what stands for their columns."""
    match node:
        case Project():
            merged = _closed(node)
            assert isinstance(merged, Project)
            if not all(map(_may_substitute, merged.items)):
                return merged, {}
            return merged.input, {(merged.alias, i.name): _standing_for(i) for i in merged.items}
        case Filter():
            core, by = _open(node.input)
            return _filtered(core, tuple(substitute(c, by) for c in node.conditions)), by
        case Join():
            opened = [_open(i) for i in node.inputs]
            by = {ref: e for _, inner in opened for ref, e in inner.items()}
            inputs: list[Relation] = []
            conditions: list[Expression] = []
            for core, _ in opened:
                parts, inner_conditions = _parts(core)
                inputs += parts
                conditions += inner_conditions
            conditions += (substitute(c, by) for c in node.conditions)
            return Join(tuple(inputs), tuple(conditions)), by
        case _:
            return _closed(node), {}


def _parts(core: Relation) -> tuple[tuple[Relation, ...], tuple[Expression, ...]]:
    """The inputs and conditions a relation brings into the join above it."""
    match core:
        case Join():
            return core.inputs, core.conditions
        case Filter():
            inputs, conditions = _parts(core.input)
            return inputs, conditions + core.conditions
        case _:
            return (core,), ()


def _filtered(core: Relation, conditions: tuple[Expression, ...]) -> Relation:
    match core:
        case Join():
            return Join(core.inputs, core.conditions + conditions)
        case Filter():
            return Filter(core.input, core.conditions + conditions)
        case _:
            return Filter(core, conditions)


def _may_substitute(item: Item) -> bool:
    constant = not any(refs(item.expression))
    return not (constant and item.type == "string") and sum(1 for _ in item.expression.walk()) <= LARGEST


def _standing_for(item: Item) -> Expression:
    constant = not any(refs(item.expression))
    return cast(item.expression, item.type) if constant and item.type != "void" else item.expression

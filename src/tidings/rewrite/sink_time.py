"""Move conditions on time down to the relation they speak of: ``τ_c(A ⋈ B) = τ_c(A) ⋈ B`` where c reads A alone.

Time then only concerns the rows of that relation: those whose instants fall into a batch are a range of it, and what
they are joined with is restricted by them.  A condition that reads several relations stays above their join.
Withheld below windows, limits and the right side of outer joins, where a row that is not there changes others.
"""

from __future__ import annotations

from tidings.ir.expression import Expression, Ref, aliases, substitute
from tidings.ir.relation import During, Filter, Join, Project, Relation, SemiJoin, Union
from tidings.ir.traverse import rebuild, with_children


def sink_time(plan: Relation) -> Relation:
    """Sink every condition on time; the same object when there is none."""
    return rebuild(plan, lambda node: _sink(node) if isinstance(node, During) else node)


def _sink(node: During) -> Relation:
    inner = node.input
    match inner:
        case Filter():
            return Filter(_over(node, inner.input, {}), inner.conditions)
        case Project():
            by = {(inner.alias, i.name): i.expression for i in inner.items}
            return Project(_over(node, inner.input, by), inner.alias, inner.items)
        case Union():
            branches = []
            for branch in inner.inputs:
                pairs = zip(inner.fields, branch.fields, strict=True)
                branches.append(_over(node, branch, {f.ref: b.expression for f, b in pairs}))
            return with_children(inner, tuple(branches))
        case SemiJoin():
            return with_children(inner, (_over(node, inner.left, {}), inner.right))
        case Join():
            mentioned = frozenset[str]().union(*map(aliases, (node.condition, *node.instants)))
            for place, entry in enumerate(inner.inputs):
                if mentioned <= {f.alias for f in entry.fields}:
                    inputs = (*inner.inputs[:place], _over(node, entry, {}), *inner.inputs[place + 1 :])
                    return Join(inputs, inner.conditions)
            return node
        case _:
            return node


def _over(node: During, input: Relation, by: dict[Ref, Expression]) -> Relation:
    """The same condition over another input, as far down as it goes."""
    return _sink(During(input, substitute(node.condition, by), tuple(substitute(i, by) for i in node.instants)))

"""Move conditions on the left side of outer and semi joins below them: ``σ_p(A ⟕ B) = σ_p(A) ⟕ B`` where p reads A.

What stands below an outer join is differentiated by itself.  The fewer rows it has, the fewer are read and padded.

Withheld for conditions on the right side: ``b.x IS NULL`` asks for the rows that were padded.
"""

from __future__ import annotations

from tidings.ir.expression import Expression, aliases, ref, substitute
from tidings.ir.relation import Filter, Join, OuterJoin, Project, Relation, SemiJoin
from tidings.ir.traverse import rebuild, with_children


def sink_filters(plan: Relation) -> Relation:
    """Sink the conditions of every filter and join; the same object when none can move.

    >>> from tidings.ir.text import parse, show
    >>> sides = "\\n    scan t t [a int]\\n    scan u u [a int]"
    >>> print(show(sink_filters(parse("filter [t.a > 1, u.a > 2]\\n  outer_join [t.a = u.a]" + sides))))
    filter [u.a > 2]
      outer_join [t.a = u.a]
        filter [t.a > 1]
          scan t t [a int]
        scan u u [a int]
    """
    return rebuild(plan, _sunk)


def _sunk(node: Relation) -> Relation:
    match node:
        case Filter(input=OuterJoin() | SemiJoin() as join):
            down, here = _split(node.conditions, join)
            if not down:
                return node
            sunk = _below(join, down)
            return Filter(sunk, here) if here else sunk
        case Join() if any(isinstance(i, OuterJoin | SemiJoin) for i in node.inputs):
            inputs = list(node.inputs)
            conditions = node.conditions
            for place, entry in enumerate(inputs):
                if isinstance(entry, OuterJoin | SemiJoin):
                    down, conditions = _split(conditions, entry)
                    inputs[place] = _below(entry, down) if down else entry
            return node if conditions == node.conditions else Join(tuple(inputs), conditions)
        case _:
            return node


def _split(
    conditions: tuple[Expression, ...], join: OuterJoin | SemiJoin
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The conditions that read the left side alone, and the others."""
    left_aliases = {f.alias for f in join.left.fields}
    down = tuple(c for c in conditions if aliases(c) and aliases(c) <= left_aliases)
    return down, tuple(c for c in conditions if c not in down)


def _below(join: OuterJoin | SemiJoin, conditions: tuple[Expression, ...]) -> Relation:
    return with_children(join, (_over(join.left, conditions), join.right))


def _over(input: Relation, conditions: tuple[Expression, ...]) -> Relation:
    """Conditions over an input, behind those it has; through projections that only give names."""
    match input:
        case Join():
            return _sunk(Join(input.inputs, input.conditions + conditions))
        case Filter():
            return _sunk(Filter(input.input, input.conditions + conditions))
        case Project() if all(ref(i.expression) is not None for i in input.items):
            by = {(input.alias, i.name): i.expression for i in input.items}
            return Project(_over(input.input, tuple(substitute(c, by) for c in conditions)), input.alias, input.items)
        case _:
            return _sunk(Filter(input, conditions))

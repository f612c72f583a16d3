"""Move conditions on time down to the relation they speak of: ``τ_c(A ⋈ B) = τ_c(A) ⋈ B`` where c reads A alone.

Time then only concerns the rows of that relation: those whose instants fall into a batch are a range of it, and what
they are joined with is restricted by them.  A condition that reads several relations stays above their join.  Filters
below a condition on time go down with it, as far as they speak of the same relation, and stay below it: a guard such as
``s <> ''`` still stands before the cast it protects.  Two conditions on time over one relation become one:
``τ_c(τ_d(A)) = τ_{d ∧ c}(A)``.

Withheld below windows, groups, limits and the right side of outer joins, where a row that is not there changes others.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidings.ir.expression import Expression, Ref, aliases, conjunction, substitute
from tidings.ir.relation import During, Filter, Join, Project, Relation, SemiJoin, Union
from tidings.ir.traverse import rebuild, with_children


def sink_time(plan: Relation) -> Relation:
    """Sink every condition on time; the same object when there is none."""
    return rebuild(plan, lambda node: _sunk(node) if isinstance(node, During) else node)


@dataclass(frozen=True, slots=True)
class _Sinking:
    """A condition on time with the filters below it, on their way down."""

    filters: tuple[Expression, ...]
    condition: Expression
    instants: tuple[Expression, ...]

    def under(self, by: dict[Ref, Expression]) -> _Sinking:
        """The same, said of what stands for the columns below."""
        filters, instants = (tuple(substitute(e, by) for e in group) for group in (self.filters, self.instants))
        return _Sinking(filters, substitute(self.condition, by), instants)

    def over(self, input: Relation) -> Relation:
        """As far down an input as it goes."""
        match input:
            case Filter():
                return _Sinking((*input.conditions, *self.filters), self.condition, self.instants).over(input.input)
            case During() if not self.filters:
                instants = tuple(dict.fromkeys((*input.instants, *self.instants)))
                return During(input.input, conjunction([input.condition, self.condition]), instants)
            case Project() if input.input.fields:
                by = {(input.alias, i.name): i.expression for i in input.items}
                return Project(self.under(by).over(input.input), input.alias, input.items)
            case Union():
                branches = []
                for branch in input.inputs:
                    pairs = zip(input.fields, branch.fields, strict=True)
                    branches.append(self.under({f.ref: b.expression for f, b in pairs}).over(branch))
                return with_children(input, tuple(branches))
            case SemiJoin():
                return with_children(input, (self.over(input.left), input.right))
            case Join():
                return self._over_join(input)
            case _:
                return self._here(input)

    def _over_join(self, join: Join) -> Relation:
        mentioned = frozenset[str]().union(*map(aliases, (self.condition, *self.instants)))
        for place, entry in enumerate(join.inputs):
            entry_aliases = {f.alias for f in entry.fields}
            if mentioned <= entry_aliases:
                down = tuple(c for c in self.filters if aliases(c) <= entry_aliases)
                left = tuple(c for c in self.filters if not aliases(c) <= entry_aliases)
                sunk = _Sinking(down, self.condition, self.instants).over(entry)
                joined = Join((*join.inputs[:place], sunk, *join.inputs[place + 1 :]), join.conditions)
                return Filter(joined, left) if left else joined
        return self._here(join)

    def _here(self, input: Relation) -> Relation:
        return During(Filter(input, self.filters) if self.filters else input, self.condition, self.instants)


def _sunk(node: During) -> Relation:
    return _Sinking((), node.condition, node.instants).over(node.input)

"""Which operator's rule applies to a node: the two total functions of the calculus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from tidings.analysis.influents import CLOCK
from tidings.delta.differentiate import during, join, project, scan, select, two_sided, union, unnest, values
from tidings.delta.versioned import Versioned, plain
from tidings.ir.relation import (
    Aggregate,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetOperation,
    Union,
    Unnest,
    Values,
    Version,
    Window,
)
from tidings.ir.traverse import children, with_children


@dataclass(frozen=True, slots=True)
class Differential:
    """One term of a delta: the change that comes from one occurrence of one changed relation."""

    influent: str
    occurrence: str
    rows: Versioned

    def over(self, rows: Versioned) -> Differential:
        return replace(self, rows=rows)


def differentiate(node: Relation, changed: frozenset[str]) -> list[Differential]:
    """The partial differentials of a plan, given which relations changed; none when nothing it reads did."""
    match node:
        case Scan():
            return [Differential(node.relation, node.alias, scan.delta(node))] if node.relation in changed else []
        case Values():
            return []
        case Filter():
            return [t.over(select.apply(node, t.rows)) for t in differentiate(node.input, changed)]
        case Project():
            return [t.over(project.apply(node, t.rows)) for t in differentiate(node.input, changed)]
        case Unnest():
            return [t.over(unnest.apply(node, t.rows)) for t in differentiate(node.input, changed)]
        case During():
            terms = [t.over(during.changed(node, t.rows)) for t in differentiate(node.input, changed)]
            if CLOCK in changed:
                rows = during.crossing(node, state(node.input, changed, Version.OLD))
                terms.append(Differential(CLOCK, node.fields[0].alias, rows))
            return terms
        case Union():
            return [
                t.over(union.branch(node, branch, t.rows))
                for branch in node.inputs
                for t in differentiate(branch, changed)
            ]
        case Join():
            terms = []
            for place, active in enumerate(node.inputs):
                for term in differentiate(active, changed):
                    before = [state(i, changed, Version.OLD) for i in node.inputs[:place]]
                    after = [state(i, changed, Version.NEW) for i in node.inputs[place + 1 :]]
                    terms.append(term.over(join.apply(node, [*before, term.rows, *after])))
            return terms
        case OuterJoin() | SemiJoin() if two_sided.is_linear(node, changed):
            return [t.over(two_sided.apply(node, t.rows)) for t in differentiate(node.left, changed)]
        case Aggregate() | Window() | OuterJoin() | SemiJoin() | SetOperation():
            raise ValueError("a keyed operator is a step of its own")
        case Repeat() | Restrict() | Consolidate():
            raise ValueError("a delta plan cannot be differentiated again")
        case Fixpoint():
            raise ValueError("a fixpoint is a step of its own")
        case _:
            assert_never(node)


def state(node: Relation, changed: frozenset[str], version: Version) -> Versioned:
    """The rows of a plan in its old state, or in its new one with the instants at which rows came and went."""
    match node:
        case Scan():
            return scan.state(node, version if node.relation in changed else Version.OLD)
        case Values():
            return values.state(node)
        case Filter():
            return select.apply(node, state(node.input, changed, version))
        case Project():
            return project.apply(node, state(node.input, changed, version))
        case Unnest():
            return unnest.apply(node, state(node.input, changed, version))
        case During():
            if version is not Version.OLD:
                raise ValueError("a condition on time is a step of its own")
            return during.state(node, state(node.input, changed, version))
        case Union():
            return union.state(node, [state(i, changed, version) for i in node.inputs])
        case Join():
            return join.apply(node, [state(i, changed, version) for i in node.inputs])
        case Aggregate() | Window() | OuterJoin() | SemiJoin() | SetOperation() | Fixpoint():
            plain_inputs = (plain(i, state(i, changed, version)) for i in children(node))
            return Versioned(with_children(node, tuple(plain_inputs)), None, None)
        case Repeat() | Restrict() | Consolidate():
            raise ValueError("a delta plan has no state")
        case _:
            assert_never(node)

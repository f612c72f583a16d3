"""Plans what a slice of an open transaction makes of a query.

Which views are expanded, which inputs changed and which program computes the delta depends on the query and on the
names of the tables that were touched, not on their rows.  So it is found out once for both and kept; the next commit
that touches the same tables finds it.  A query over stored views is planned anew each time: how far these reach
matters too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tidings.analysis.influents import influents
from tidings.compiled import Identity
from tidings.delta.plan import Program
from tidings.delta.recompute import recompute_program
from tidings.ir.relation import Fixpoint, Relation
from tidings.waves.planner import PLANS, Planner
from tidings.waves.recursion.deltas import counts_duplicates, recursions
from tidings.waves.shared import in_common

K = TypeVar("K")
V = TypeVar("V")


class SliceKind(NamedTuple):
    """What slices of one kind have in common."""

    before: frozenset[str]
    """The relations that were touched before the slice,"""
    changes: frozenset[str]
    """and in it."""
    precomputed: frozenset[str] = frozenset()
    """The views whose changes by the slice are known,"""
    precomputed_changed: frozenset[str] = frozenset()
    """and those of them that have any."""

    @property
    def touched(self) -> frozenset[str]:
        return self.before | self.changes


class SlicePlan(NamedTuple):
    """How the changes of a query by a slice are computed."""

    program: Program
    definitions: dict[str, Relation]
    """The views that the query expands."""
    changed: frozenset[str]
    """The inputs of the program that have changes."""
    precomputed: frozenset[str]
    """The views whose known changes it reads."""
    recursions: tuple[Fixpoint, ...]
    """The recursions that it reads, maintained beside it."""
    is_recompute: bool
    """Whether the answer is computed anew, for a recursion that counts duplicates."""


@dataclass(slots=True)
class SlicePlans:
    """Plans the slices of the transactions of one database."""

    planner: Planner
    _plans: dict[tuple[str, Identity[Relation], SliceKind], SlicePlan] = field(init=False)
    _in_common: dict[tuple[frozenset[Identity[Relation]], frozenset[str]], dict[str, Relation]] = field(init=False)
    """The views that several queries read, by what was touched."""

    def __post_init__(self) -> None:
        self._plans, self._in_common = self.planner.compiled.section(), self.planner.compiled.section()

    def plan(self, name: str, query: Relation, at: int, kind: SliceKind) -> SlicePlan:
        """How the changes of a query are computed in slices of a kind, after an instant."""
        key = name, Identity(query), kind
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(name, query, at, kind)
            if not self.planner.reads_stored(query):
                _keep(self._plans, key, plan)
        return plan

    def _planned(self, name: str, query: Relation, at: int, kind: SliceKind) -> SlicePlan:
        definitions = self.planner.definitions_inside(query, at, kind.touched)
        precomputed = kind.precomputed.intersection(definitions)
        below = influents(query, {view: plan for view, plan in definitions.items() if view not in precomputed})
        changed = below & (kind.changes | (kind.precomputed_changed & precomputed))
        nodes = tuple(recursions([query], definitions, precomputed).values())
        is_recompute = any(map(counts_duplicates, nodes))
        program = (
            recompute_program(name, query, below & kind.changes, definitions)
            if is_recompute
            else self.planner.differential(name, query, changed, definitions, precomputed)
        )
        return SlicePlan(program, definitions, changed, precomputed, nodes, is_recompute)

    def views_in_common(self, queries: Mapping[str, Relation], at: int, changes: frozenset[str]) -> dict[str, Relation]:
        """The views with touched tables below them that several queries read, each after those it reads."""
        key = frozenset(map(Identity, queries.values())), changes
        views = self._in_common.get(key)
        if views is None:
            views = self._found_in_common(queries, at, changes)
            if not self.planner.reads_stored(*queries.values()):
                _keep(self._in_common, key, views)
        return views

    def _found_in_common(
        self, queries: Mapping[str, Relation], at: int, changes: frozenset[str]
    ) -> dict[str, Relation]:
        below, plans = self.planner.below, queries.values()
        uses = Counter(name for plan in plans for name in below(plan))
        if not self.planner.relations.definitions(names=[name for name, times in uses.items() if times > 1]):
            return {}
        definitions: dict[str, Relation] = {}
        for plan in plans:
            definitions |= self.planner.definitions_inside(plan, at, changes)
        names = in_common(plans, definitions)
        return {name: definitions[name] for name in names if below(definitions[name]).intersection(changes)}


def _keep(plans: dict[K, V], key: K, plan: V) -> None:
    """Keep a plan, among a bounded number of others."""
    if len(plans) >= PLANS:
        plans.clear()
    plans[key] = plan

"""Decides which waves run and when: for one query, or for the stored views that are due.

A wave covers a batch ``(since, until]``.  Stored views are read like tables, so a wave stops at them; reading one
brings it up to date first (:mod:`tidings.waves.upkeep`).  Where its rows do not reach, before it was stored and in the
future, its query stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.ir.relation import Relation
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.engines import Engines
from tidings.waves.executor import Executor
from tidings.waves.planner import Planner
from tidings.waves.recursion.deltas import Recursion
from tidings.waves.slices import SlicePlans
from tidings.waves.upkeep import Upkeep
from tidings.waves.wave import Wave, WaveRequest


@dataclass(slots=True)
class Scheduler:
    """The waves of one database."""

    planner: Planner
    timeline: Timeline
    executor: Executor = field(init=False)
    recursion: Recursion = field(init=False)
    slices: SlicePlans = field(init=False)
    upkeep: Upkeep = field(init=False)

    def __post_init__(self) -> None:
        self.executor = Executor(self.relations, self.engines, self.planner.estimator.experience)
        self.recursion = Recursion(self.planner, self.executor)
        self.slices = SlicePlans(self.planner)
        self.upkeep = Upkeep(self.planner, self.executor, self.recursion, self.timeline)

    @property
    def engines(self) -> Engines:
        return self.planner.engines

    @property
    def storage(self) -> Storage:
        return self.planner.storage

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def close(self) -> None:
        """Close the second engine."""
        self.engines.close()

    # queries

    def delta(self, name: str, plan: Relation, since: int, until: int, *, net: bool, strict: bool = False) -> pa.Table:
        """How the answer of a query changed; with ``net`` perhaps only what lies between the two ends."""
        wave = self.plan(WaveRequest(name, plan, since, until, net=net, strict=strict))
        if strict:
            wave.choice.require_incremental(name)
        return self.executor.run(wave)[name]

    def plan(self, request: WaveRequest) -> Wave:
        """Choose how to process a batch; the stored views that the query reads are brought up to its end."""
        self.catch_up(request.plan, request.until, request.groupings)
        return self.planner.plan(self.recursion.prepared(request))

    def catch_up(self, plan: Relation, until: int, groupings: Mapping[str, Relation] | None = None) -> None:
        """Bring the stored views that a plan reads up to an instant; ``groupings`` are definitions it uses too."""
        with self.storage.journal.settlement.settling():  # what comes next may take long, and can be cancelled
            self.upkeep.catch_up(plan, until, groupings)

    # stored views

    def advance(self, until: int) -> None:
        """Bring stored views up to an instant, except those that are refreshed by hand.

        One that fails is marked so, and does not hold up those that do not read it.
        """
        self.upkeep.advance([v for v in self.relations.stored() if v.refresh is not Refresh.MANUAL], until)

    def advance_immediate(self, time: int) -> None:
        """Bring the views up to a commit that are refreshed by every commit."""
        views = [v for v in self.relations.stored() if v.refresh is Refresh.IMMEDIATE]
        self.upkeep.advance([v for v in views if self.upkeep.is_pending(v, time)], time)

    def refresh(self, view: StoredView, until: int) -> None:
        """Bring one stored view up to an instant, however it is refreshed; raises if it fails."""
        self.upkeep.require_advanced([view], until)

    def fill(self, view: StoredView, at: int, filled: Mapping[str, Table] | None = None) -> None:
        """Give a stored view the rows that its query has at an instant, see :meth:`Upkeep.fill`."""
        self.upkeep.fill(view, at, filled)

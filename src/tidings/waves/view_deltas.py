"""Computes the deltas of stored views and of their groupings over a batch, for one view or for several at once.

Several views that stand at the same instant share work (:mod:`tidings.waves.shared`): the delta of a view that more
than one of them reads is computed once and handed to their waves, those that differ only in constants have one wave
(:mod:`tidings.rewrite.shapes`), and small waves run in common jobs.

Whoever asks has brought the stored views up to date that these read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from tidings.compiled import Identity
from tidings.engine.run import LIST_LIMIT
from tidings.engine.source import Source
from tidings.ir.relation import Relation
from tidings.store.relation.relations import Relations
from tidings.store.relation.view import StoredView
from tidings.waves import shared
from tidings.waves.engines import IN_PROCESS
from tidings.waves.executor import Executor
from tidings.waves.in_process.shape_states import shape_states
from tidings.waves.planner import Planner
from tidings.waves.recursion.deltas import Recursion
from tidings.waves.strategy import Strategy
from tidings.waves.wave import PrecomputedDeltas, Wave, WaveRequest

ViewQuery: TypeAlias = tuple[StoredView, shared.SharedQuery]
"""A stored view and its query in a batch."""


@dataclass(slots=True)
class ViewDeltas:
    """Computes the deltas of stored views."""

    planner: Planner
    executor: Executor
    recursion: Recursion
    _queries: dict[tuple[object, ...], shared.SharedQuery] = field(init=False)
    """The queries of stored views over views whose deltas are precomputed."""
    _shapes: dict[tuple[tuple[str, Identity[Relation]], ...], list[shared.OneShape]] = field(init=False)
    """The groups of one shape among some views."""

    def __post_init__(self) -> None:
        self._queries, self._shapes = self.planner.compiled.section(), self.planner.compiled.section()

    @property
    def _relations(self) -> Relations:
        return self.planner.relations

    def of_view(self, view: StoredView, until: int) -> dict[str, pa.Table]:
        """The deltas of a stored view and its groupings from where it stands; a strict one refuses a recompute."""
        wave = self._plan(view, shared.SharedQuery(view.over, view.groupings), view.until, until, {})
        if view.strict:
            wave.choice.require_incremental(view.name)
        return self.executor.run(wave, frozenset(view.groupings))

    def of_views(self, views: list[StoredView], until: int) -> dict[str, dict[str, pa.Table]]:
        """The deltas of views that stand at one instant, by view; a strict one that would be recomputed is left out."""
        since = views[0].until
        precomputed = self._shared_deltas(views, since, until)
        queries = [(view, self._query(view, frozenset(precomputed))) for view in views]
        waves = self._waves_of_shapes(queries, since, until, precomputed)
        done = {name for wave in waves for name in wave.of_one_shape}
        deltas: dict[str, dict[str, pa.Table]] = {}
        alone: list[tuple[StoredView, Wave]] = []
        for view, query in queries:
            if view.name not in done:
                wave = self._plan(view, query, since, until, precomputed if query.over is not view.over else {})
                if not (view.strict and wave.choice.strategy is Strategy.RECOMPUTE):
                    alone.append((view, wave))
        requests = [(wave, frozenset(view.groupings)) for view, wave in alone]
        results = self.executor.run_all([(wave, frozenset(wave.stored)) for wave in waves] + requests)
        of_views = {view.name: (view.name, *query.groupings) for view, query in queries}
        for wave, result in zip(waves, results, strict=False):
            deltas |= {v: {n: result[n] for n in of_views[v] if n in result} for v in wave.of_one_shape}
        return deltas | {view.name: result for (view, _), result in zip(alone, results[len(waves) :], strict=True)}

    def _waves_of_shapes(
        self, queries: list[ViewQuery], since: int, until: int, precomputed: PrecomputedDeltas
    ) -> list[Wave]:
        """Waves for several views each: those of one shape, where their changes are few and not recomputed."""
        waves: list[Wave] = []
        for group in self._of_one_shape(queries):
            states = shape_states(self.planner.storage, group) if self._may_share(group) else None
            if states is None:
                continue
            groupings = group.groupings or None
            request = WaveRequest(
                group.name, group.plan, since, until, groupings=groupings, precomputed=precomputed, states=states
            )
            wave = self.planner.plan(self.recursion.prepared(request))
            if wave.choice.strategy is not Strategy.RECOMPUTE and wave.changes <= LIST_LIMIT:
                shared_wave = replace(wave, other=None, of_one_shape=group.views, stored=group.stored)
                waves += [shared_wave] if self._is_in_place(shared_wave) else []
        return waves

    def _may_share(self, group: shared.OneShape) -> bool:
        """Whether views of one shape may have one wave: their groupings are read in this process."""
        return not group.groupings or self.executor.engines.in_process is not None

    def _is_in_place(self, wave: Wave) -> bool:
        """Whether a wave runs where the rows are that it reads of groupings."""
        return not wave.stored or self.executor.choice(wave).execution == IN_PROCESS

    def _of_one_shape(self, queries: list[ViewQuery]) -> list[shared.OneShape]:
        """The groups of views of one shape; found out once."""
        key = tuple((view.name, Identity(query.over)) for view, query in queries)
        if key not in self._shapes:
            plans = {view.name: query.over for view, query in queries}
            self._shapes[key] = shared.of_one_shape(plans, {view.name: query.groupings for view, query in queries})
        return self._shapes[key]

    def _plan(
        self, view: StoredView, query: shared.SharedQuery, since: int, until: int, precomputed: PrecomputedDeltas
    ) -> Wave:
        request = WaveRequest(
            view.name,
            query.over,
            since,
            until,
            groupings=query.groupings,
            precomputed=precomputed,
            strict=view.strict,
        )
        return self.planner.plan(self.recursion.prepared(request))

    def _shared_deltas(self, views: list[StoredView], since: int, until: int) -> dict[str, Source]:
        """The deltas of the views that several stored views read, each computed once."""
        definitions = self._relations.definitions(since, until)
        deltas: dict[str, Source] = {}
        for name in shared.in_common([v.plan for v in views], definitions):
            request = WaveRequest(name, definitions[name], since, until, precomputed=dict(deltas))
            wave = self.planner.plan(self.recursion.prepared(request))
            deltas[name] = Source(wave.program.columns, None, self.executor.run(wave)[name])
        return deltas

    def _query(self, view: StoredView, precomputed: frozenset[str]) -> shared.SharedQuery:
        """A stored view's query over views with precomputed deltas; its own where its groupings do not allow that."""
        plain = shared.SharedQuery(view.over, view.groupings)
        if not precomputed:
            return plain
        key = (view.name, Identity(view.over), precomputed)
        if key not in self._queries:
            self._queries[key] = shared.over_shared(view, self._relations.definitions(), precomputed) or plain
        return self._queries[key]

"""Computes the changes of several queries over one batch, with what they have in common done once.

Queries that differ only in constants have one wave (:mod:`tidings.rewrite.shapes`), and small waves run in common jobs.
The stored views that they read are brought up to the end of the batch first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from tidings.compiled import Identity
from tidings.engine.run import LIST_LIMIT
from tidings.ir.relation import Relation
from tidings.rewrite.pipeline import normalise
from tidings.waves import shared
from tidings.waves.scheduler import Scheduler
from tidings.waves.strategy import Strategy
from tidings.waves.wave import Wave, WaveRequest


@dataclass(slots=True)
class QueryDeltas:
    """Computes the changes of queries of one database."""

    scheduler: Scheduler
    _normal: dict[tuple[object, ...], Relation] = field(init=False)
    """Normal forms of queries, by query and by the views that stand for themselves."""
    _shapes: dict[tuple[tuple[str, Identity[Relation]], ...], list[shared.OneShape]] = field(init=False)

    def __post_init__(self) -> None:
        compiled = self.scheduler.planner.compiled
        self._normal, self._shapes = compiled.section(), compiled.section()

    def over(self, queries: Mapping[str, Relation], since: int, until: int) -> dict[str, pa.Table]:
        """The changes of queries at every instant of ``(since, until]``, by their names."""
        for plan in queries.values():
            self.scheduler.catch_up(plan, until)
        waves = self._waves_of_shapes(queries, since, until) if len(queries) > 1 else []
        done = {name for wave in waves for name in wave.of_one_shape}
        planner = self.scheduler.planner
        waves += [planner.plan(WaveRequest(n, p, since, until)) for n, p in queries.items() if n not in done]
        results = self.scheduler.executor.run_all([(wave, frozenset[str]()) for wave in waves])
        deltas = [wave_deltas for result in results for wave_deltas in result.items()]
        return {name: delta for name, delta in deltas if name in queries}

    def _waves_of_shapes(self, queries: Mapping[str, Relation], since: int, until: int) -> list[Wave]:
        """Waves for several queries each: those of one shape, where their changes are few and not recomputed."""
        planner = self.scheduler.planner
        normal = {name: self._normalised(plan, since, until) for name, plan in queries.items()}
        key = tuple((name, Identity(plan)) for name, plan in normal.items())
        if key not in self._shapes:
            self._shapes[key] = shared.of_one_shape(normal)
        waves: list[Wave] = []
        for group in self._shapes[key]:
            wave = planner.plan(WaveRequest(group.name, group.plan, since, until))
            if wave.choice.strategy is not Strategy.RECOMPUTE and wave.changes <= LIST_LIMIT:
                waves.append(replace(wave, other=None, of_one_shape=group.views))
        return waves

    def _normalised(self, plan: Relation, since: int, until: int) -> Relation:
        definitions = self.scheduler.planner.definitions([plan], since, until)
        key = (Identity(plan), frozenset(definitions))
        if key not in self._normal:
            self._normal[key] = normalise(plan, definitions)
        return self._normal[key]

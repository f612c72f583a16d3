"""Waves: from what was committed to what changed, for one query or for every stored view.

A wave covers a batch ``(since, until]``.  Stored views are at hand like tables, so a wave stops at them; reading one
brings it up to date first.  Where its rows do not reach, before it was stored and in the future, its query stands for
it.

Stored views that are brought up to date together are recorded together, in one transaction of the catalog: a crash
leaves all of it or nothing.

A wave may fail: at some instant in the batch the query has no answer, as ``CAST('x' AS INT)`` has none, or a total does
not fit its type on the way, or what it has to read is older than what is retained.  Then the stored view begins anew
with the rows it has now, as if it had been stored just now; if there are none either, it stays where it was and is
marked as failed.  A strict one always stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.analysis.influents import influents
from tidings.delta.recompute import recompute_program
from tidings.engine.source import Source
from tidings.errors import EngineFailed, HistoryGone, RecomputeRefused, TidingsError
from tidings.ir.relation import Aggregate, Relation, Version
from tidings.rewrite.pipeline import normalise
from tidings.store import stored_views
from tidings.store.relation.relations import Relations
from tidings.store.relation.table import Table
from tidings.store.relation.view import Refresh, StoredView
from tidings.store.storage import Storage
from tidings.waves import shared
from tidings.waves.executor import Executor
from tidings.waves.planner import Planner
from tidings.waves.progress import steps
from tidings.waves.strategy import Strategy
from tidings.waves.wave import NOTHING, Given, Wave


@dataclass(slots=True)
class Scheduler:
    """The waves of one database."""

    planner: Planner
    settled: Callable[[], int]
    """The instant up to which nothing more can be committed; no stored view goes beyond it."""
    executor: Executor = field(init=False)
    _queries: dict[tuple[object, ...], shared.SharedQuery] = field(default_factory=dict)
    """Queries of stored views over what is given."""
    _failed: dict[str, tuple[int, TidingsError]] = field(default_factory=dict)
    """Views that failed in the present wave, and on the way to which instant."""
    _depth: int = 0

    def __post_init__(self) -> None:
        self.executor = Executor(self.planner)

    @property
    def storage(self) -> Storage:
        return self.planner.storage

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def forget(self) -> None:
        """Forget what was compiled: a definition has changed."""
        self.planner.forget()
        self._queries.clear()

    def close(self) -> None:
        """Let go of the second engine."""
        if self.planner.in_process is not None:
            self.planner.in_process.second.close()

    def delta(self, name: str, plan: Relation, since: int, until: int, *, net: bool, strict: bool = False) -> pa.Table:
        """How the answer of a query changed; with ``net`` perhaps only what lies between the two ends."""
        wave = self.plan(name, plan, since, until, net=net, strict=strict)
        if strict:
            wave.choice.require_incremental(name)
        return self.executor.run(wave)[name]

    def plan(
        self,
        name: str,
        plan: Relation,
        since: int,
        until: int,
        *,
        net: bool,
        groupings: Mapping[str, Aggregate] | None = None,
        given: Given = NOTHING,
        strict: bool = False,
    ) -> Wave:
        """Choose how to process a batch, see :class:`Planner`; the stored views it reads are brought up to its end."""
        self.catch_up(plan, until, groupings)
        return self.planner.plan(name, plan, since, until, net=net, groupings=groupings, given=given, strict=strict)

    # stored views

    def advance(self, until: int) -> None:
        """Bring stored views up to an instant, unless they wait to be told.

        One that fails is marked so, and does not hold up those that do not read it.
        """
        self._together([v for v in self.relations.stored() if v.refresh is not Refresh.MANUAL], until)

    def advance_immediate(self, time: int) -> None:
        """Bring the views along that keep up with every commit."""
        views = [v for v in self.relations.stored() if v.refresh is Refresh.IMMEDIATE]
        self._together([v for v in views if self._pending(v, time)], time)

    def refresh(self, view: StoredView, until: int) -> None:
        """Bring one stored view up to an instant, however it is refreshed; raises if it fails."""
        self._raise(self._together([view], until))

    def catch_up(self, plan: Relation, until: int, more: Mapping[str, Relation] | None = None) -> None:
        """Bring the stored views a plan reads up to an instant; ``more`` are definitions beside the catalog's."""
        wanted = influents(plan, self.relations.definitions(until) | dict(more or {}))
        views = [v for v in self.relations.stored() if v.name in wanted and v.refresh is not Refresh.MANUAL]
        self._raise(self._together(views, min(until, self.settled())))

    def _pending(self, view: StoredView, until: int) -> bool:
        """Whether something a view reads has changed since."""
        if view.is_outdated:
            return True
        try:
            return bool(self.planner.changed(influents(view.plan, self.relations.definitions()), view.until, until))
        except HistoryGone:
            return True

    def _together(self, views: list[StoredView], until: int) -> list[TidingsError]:
        """Bring some views up to an instant; what went wrong with those that failed."""
        failures: list[TidingsError] = []
        behind = [v for v in views if v.is_outdated or v.until < until]
        if not behind:
            return failures
        self._depth += 1
        try:
            with self.storage.together():
                stored = {v.name for v in self.relations.stored()}
                plain = {name: plan for name, plan in self.relations.definitions().items() if name not in stored}
                for group in shared.groups(behind, plain):
                    done = self._advance_group(group, until) if len(group) > 1 else frozenset()
                    for view in (v for v in group if v.name not in done):
                        try:
                            self._advance(view, until)
                        except (EngineFailed, HistoryGone, RecomputeRefused) as failure:
                            failures.append(failure)
                            self._failed[view.name] = until, failure
                            stored_views.fail(self.storage, view, failure.message)
        finally:
            self._depth -= 1
            if not self._depth:
                self._failed.clear()
        return failures

    def _raise(self, failures: list[TidingsError]) -> None:
        if failures:
            raise failures[0]

    def _advance(self, view: StoredView, until: int) -> None:
        tried, failure = self._failed.get(view.name, (0, None))
        if failure is not None and tried == until:
            raise failure
        if view.is_outdated:
            self.fill(view, until)
        if view.until >= until:
            return
        try:
            wave = self._planned(view, shared.SharedQuery(view.over, view.groupings), view.until, until, NOTHING)
            if view.strict:
                wave.choice.require_incremental(view.name)
            deltas = self.executor.run(wave, frozenset(view.groupings))
            if wave.choice.strategy is Strategy.RECOMPUTE:
                deltas |= self._recomputed_groupings(view, wave)
        except (EngineFailed, HistoryGone) as failure:
            self._begin_anew(view, until, failure)
            return
        stored_views.advance(self.storage, view, deltas, until)

    def _advance_group(self, views: list[StoredView], until: int) -> frozenset[str]:
        """Bring views that have things in common up to an instant; the names of those for which that went well."""
        ready = [v for v in views if v.error is None and not v.is_outdated and v.name not in self._failed]
        if len(ready) < 2:
            return frozenset()
        since, waves = ready[0].until, {}
        try:
            given = self._in_common(ready, since, until)
            for view in ready:
                query = self._query(view, frozenset(given))
                own = given if query.over is not view.over else NOTHING
                wave = self._planned(view, query, since, until, own)
                if not (view.strict and wave.choice.strategy is Strategy.RECOMPUTE):
                    waves[view.name] = view, wave
            found = self.executor.run_all([(wave, frozenset(view.groupings)) for view, wave in waves.values()])
            for (view, wave), deltas in zip(waves.values(), found, strict=True):
                if wave.choice.strategy is Strategy.RECOMPUTE:
                    deltas |= self._recomputed_groupings(view, wave)
        except (EngineFailed, HistoryGone):
            return frozenset()  # then one by one, so that it shows which of them fails
        for (view, _), deltas in zip(waves.values(), found, strict=True):
            stored_views.advance(self.storage, view, deltas, until)
        return frozenset(waves)

    def _planned(self, view: StoredView, query: shared.SharedQuery, since: int, until: int, given: Given) -> Wave:
        over, groupings = query.over, query.groupings
        return self.plan(view.name, over, since, until, net=False, groupings=groupings, given=given, strict=view.strict)

    def _in_common(self, views: list[StoredView], since: int, until: int) -> dict[str, Source]:
        """The deltas of what several views read, computed once."""
        for view in views:
            self.catch_up(view.plan, until)
        definitions = self.relations.definitions(since, until)
        given: dict[str, Source] = {}
        for name in shared.in_common([v.plan for v in views], definitions):
            wave = self.plan(name, definitions[name], since, until, net=False, given=dict(given))
            given[name] = Source(wave.program.columns, None, self.executor.run(wave)[name])
        return given

    def _query(self, view: StoredView, given: frozenset[str]) -> shared.SharedQuery:
        """A stored view's query over what is given; without it where its groupings do not allow that."""
        if not given:
            return shared.SharedQuery(view.over, view.groupings)
        key = (view.name, id(view.over), given)
        if key not in self._queries:
            found = shared.over_shared(view, self.relations.definitions(), given)
            self._queries[key] = found or shared.SharedQuery(view.over, view.groupings)
        return self._queries[key]

    def _recomputed_groupings(self, view: StoredView, wave: Wave) -> dict[str, pa.Table]:
        definitions = self.relations.definitions(wave.since, wave.until) | view.groupings
        found = {}
        for name, groups in view.groupings.items():
            alone = len(wave.ends) == 1
            program = recompute_program(name, groups, wave.program.changed, definitions, stored=alone)
            found[name] = self.executor.recomputed(program, wave.since, wave.ends)
        return found

    def _begin_anew(self, view: StoredView, at: int, failure: TidingsError) -> None:
        """Fill a view whose changes cannot be told with the rows it has now, if it has any."""
        if view.strict:
            raise failure
        try:
            self.fill(view, at)
        except EngineFailed:
            raise failure from None

    def fill(self, view: StoredView, at: int, kept: Mapping[str, Table] | None = None) -> None:
        """Give a stored view the rows that its query has at an instant, computed from scratch.

        ``kept`` are groupings that are there already, and from which the rest can be computed.
        """
        known = dict(kept or {})
        self.catch_up(view.plan, at)
        rest = {name: node for name, node in view.groupings.items() if name not in known}
        definitions = self.relations.definitions(at, at) | rest

        def sources(relation: str, version: Version) -> Source:
            return (known.get(relation) or self.relations.rows(relation)).source(version, 0, at)

        found = {}
        for name in steps(f"filling {view.name}", [n for n in view.tables if n not in known]):
            plan = view.groupings.get(name) or (view.over if known else view.plan)
            found[name] = self.planner.runner.query(normalise(plan, definitions), sources, at)
        stored_views.fill(self.storage, view, found, at)

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

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents
from tidings.delta.cost import Sizes
from tidings.delta.plan import Program, compile_program
from tidings.delta.recompute import recompute_program
from tidings.engine.run import LIST_LIMIT, Runner
from tidings.engine.source import Source, Sources
from tidings.errors import EngineFailed, HistoryGone, RecomputeRefused, TidingsError
from tidings.ir.relation import Aggregate, Filter, Join, Project, Relation, Scan, Union, Unnest, Values, Version
from tidings.ir.traverse import walk
from tidings.network import shared
from tidings.network.looking_up import TooFar
from tidings.network.nearby import Found, Nearby
from tidings.network.progress import steps
from tidings.network.record import WaveRecord
from tidings.network.strategy import Choice, Strategy, choose
from tidings.rewrite.accumulate import grows_only
from tidings.rewrite.pipeline import normalise
from tidings.store import upkeep
from tidings.store.catalog import Catalog
from tidings.store.storage import Storage
from tidings.store.table import Table
from tidings.store.view import Refresh, StoredView

RECORDS = 1000
"""So many waves are remembered."""

TOGETHER = 40
"""So many small waves run in one job."""

Given: TypeAlias = Mapping[str, Source]
"""Deltas of views, known before a wave."""

NOTHING: Given = {}

Run: TypeAlias = Callable[[Program, Sources, int, int], pa.Table]
"""What runs a program over a batch, and gives its delta."""

_GROWING = (Scan, Values, Filter, Project, Join, Union, Unnest)
"""Operators over which more rows below mean more rows above."""


@dataclass(frozen=True, slots=True)
class Wave:
    """A batch for one query: how it is to be processed, and the programs for it."""

    choice: Choice
    program: Program
    since: int
    until: int
    ends: tuple[int, ...]
    """The instants one after the other, for a recompute."""
    changes: int
    """Changed rows of the tables and stored views it reads."""
    seconds: float
    """How long it took to plan it."""
    given: Given
    """Deltas of views below that are known already."""


@dataclass(slots=True)
class Waves:
    """Plans and runs waves over a catalog; programs are compiled once and kept."""

    storage: Storage
    runner: Runner
    settled: Callable[[], int]
    """The instant up to which nothing more can be committed; no stored view goes beyond it."""
    only: Strategy | None = None
    """The strategy to use whatever the estimates say: a differential or a recompute."""
    nearby: Nearby | None = None
    """What runs small waves in this process, if that is wanted."""
    records: deque[WaveRecord] = field(default_factory=lambda: deque(maxlen=RECORDS))
    _programs: dict[tuple[object, ...], Program] = field(default_factory=dict)
    _held: dict[int, Relation] = field(default_factory=dict)
    """The plans of programs, which go by their identity and so must not go."""
    _queries: dict[tuple[object, ...], shared.Query] = field(default_factory=dict)
    """Queries of stored views over what is given."""
    _failed: dict[str, tuple[int, TidingsError]] = field(default_factory=dict)
    """Views that failed in the present wave, and on the way to which instant."""
    _depth: int = 0

    @property
    def catalog(self) -> Catalog:
        return self.storage.catalog

    def forget(self) -> None:
        """Forget compiled programs: a definition has changed."""
        self._programs.clear()
        self._held.clear()
        self._queries.clear()
        if self.nearby is not None:
            self.nearby.forget()

    def close(self) -> None:
        """Let go of the second engine."""
        if self.nearby is not None:
            self.nearby.second.close()

    def delta(self, name: str, plan: Relation, since: int, until: int, *, net: bool, strict: bool = False) -> pa.Table:
        """How the answer of a query changed; with ``net`` perhaps only what lies between the two ends."""
        wave = self.plan(name, plan, since, until, net=net, strict=strict)
        if strict:
            wave.choice.require_incremental(name)
        return self._run(wave)[name]

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
        """Choose how to process a batch; the stored views it reads are brought up to its end.

        ``strict`` leaves out what only makes a recompute faster: it would be refused.

        ``groupings`` are those of a stored view, whose own rows are at hand as well; for other queries there are none.
        ``given`` are deltas of views below that have been computed for the same batch.
        """
        kept = dict(groupings or {})
        self.catch_up(plan, until, kept)
        begun = perf_counter()
        definitions = self.catalog.definitions(since, until) | kept
        leaves = {n: d for n, d in definitions.items() if n not in given}
        tables = influents(plan, definitions)
        moved = self.changed(tables, since, until)
        below = influents(plan, leaves)
        changed = (moved & below) | frozenset(g for g in below if g in given and _size(given[g]))
        merged = frozenset(g for g, node in kept.items() if self._merges(node, definitions, since, until))
        instants = _distinct([self.catalog.rows(r).instants(since, until) for r in moved - {CLOCK}])
        stored = groupings is not None and len(instants) == 1
        key = (name, id(plan), changed, moved, frozenset(definitions), merged, frozenset(given), stored)
        self._held[id(plan)] = plan
        if key not in self._programs:
            names = frozenset(given)
            self._programs[key] = compile_program(
                name, plan, changed, definitions, kept=frozenset(kept), merged=merged, given=names
            )
            self._programs[*key, "recompute"] = recompute_program(name, plan, moved, definitions, stored=stored)
        differential, recompute = self._programs[key], self._programs[*key, "recompute"]

        def changed_rows(r: str) -> int:
            return _size(given[r]) if r in given else self.catalog.rows(r).change_count(since, until)

        changes = sum(map(changed_rows, changed - {CLOCK}))
        near = self.nearby is not None and self.nearby.why_not(differential, changes) is None
        sizes = Sizes(
            lambda r: self.catalog.rows(r).size(since),
            changed_rows,
            len(instants),
            lambda r, column: None if r in given else self.storage.fanout(self.catalog.rows(r), column),
            toll=0 if near or strict else self.runner.backend.toll,
            listed=LIST_LIMIT,
        )
        choice = choose(differential, None if CLOCK in changed else recompute, merged, sizes, net=net, only=self.only)
        again = choice.strategy is Strategy.RECOMPUTE
        ends = (until,) if net or not again else tuple(sorted(instants.to_pylist()))
        program = recompute if again else differential
        return Wave(choice, program, since, until, ends, changes, perf_counter() - begun, given)

    def program(
        self, name: str, plan: Relation, changed: frozenset[str], definitions: Mapping[str, Relation]
    ) -> Program:
        """The differential of a query for some changed tables, compiled once and kept."""
        key = ("program", name, id(plan), changed, frozenset(definitions))
        if key not in self._programs:
            self._programs[key] = compile_program(name, plan, changed, definitions)
        return self._programs[key]

    def changed(self, relations: frozenset[str], since: int, until: int) -> frozenset[str]:
        """Those of some relations that changed in a batch; the clock always does."""
        if since >= until:
            return frozenset()
        return frozenset(r for r in relations if r == CLOCK or self.catalog.rows(r).changed(since, until))

    def _merges(self, groups: Aggregate, definitions: Mapping[str, Relation], since: int, until: int) -> bool:
        """Whether the changes of a batch can be merged into a kept grouping."""
        if not grows_only(groups):
            return True
        below = normalise(groups.input, definitions)
        tables = influents(below, definitions)
        growing = all(isinstance(n, _GROWING) for n in walk(below)) and CLOCK not in tables
        return growing and all(self.catalog.rows(t).only_grows(since, until) for t in tables)

    def execution(self, wave: Wave) -> tuple[str, str]:
        """Where a wave runs, and why there."""
        engine = self.runner.backend.name
        if self.nearby is None:
            return engine, f"execution is {engine}"
        again = wave.choice.strategy is Strategy.RECOMPUTE
        program = wave.program
        against = self.nearby.why_not_again(program) if again else self.nearby.why_not(program, wave.changes)
        return ("in-process", "small, and the engines agree on it") if against is None else (engine, against)

    def _run(self, wave: Wave, wanted: frozenset[str] = frozenset()) -> dict[str, pa.Table]:
        """The deltas of a wave's view and of those of its groupings that are wanted; what it took is recorded."""
        sources = self.sources(wave.since, wave.until, wave.given)
        if wave.choice.strategy is Strategy.NOTHING:
            return self.runner.deltas(wave.program, sources, wave.since, wave.until)
        execution, why = self.execution(wave)
        seconds, rows = {"plan": wave.seconds}, wave.choice.rows
        begun, deltas = perf_counter(), None
        with self.runner.backend.counted() as jobs:
            if execution == "in-process" and self.nearby is not None:
                try:
                    found = self._run_nearby(self.nearby, wave, sources, wanted)
                except (TooFar, EngineFailed) as reason:  # if this engine cannot do it, the other one can or says why
                    execution, why = self.runner.backend.name, str(reason).splitlines()[0]
                else:
                    deltas, rows = found.deltas, found.rows
                    seconds["look up"] = found.seconds
                    begun += found.seconds
            if deltas is None and wave.choice.strategy is Strategy.RECOMPUTE:
                deltas = {wave.program.view: self._recomputed(wave.program, wave.since, wave.ends, self.runner.run)}
            if deltas is None:
                deltas = self.runner.deltas(wave.program, sources, wave.since, wave.until, wanted)
        seconds["finish" if "look up" in seconds else "run"] = perf_counter() - begun
        self._record(wave, (execution, why), rows, deltas, jobs.number, seconds)
        return deltas

    def _run_nearby(self, nearby: Nearby, wave: Wave, sources: Sources, wanted: frozenset[str]) -> Found:
        if wave.choice.strategy is not Strategy.RECOMPUTE:
            return nearby.run(wave.program, sources, wave.since, wave.until, wanted)
        delta = self._recomputed(wave.program, wave.since, wave.ends, nearby.again)
        return Found({wave.program.view: delta}, wave.choice.rows, 0.0)

    def _record(
        self,
        wave: Wave,
        where: tuple[str, str],
        read: int,
        deltas: Mapping[str, pa.Table],
        jobs: int | None,
        seconds: Mapping[str, float],
        together: int = 1,
    ) -> None:
        view, choice = wave.program.view, wave.choice
        self.records.append(
            WaveRecord(
                *(view, wave.since, wave.until, choice.strategy.value, choice.reason, *where),
                *(wave.changes, read, deltas[view].num_rows, jobs, seconds, together),
            )
        )

    def _run_all(self, waves: list[tuple[Wave, frozenset[str]]]) -> list[dict[str, pa.Table]]:
        """The deltas of several waves over one batch; those of the engine that are small run in common jobs."""
        found: dict[int, dict[str, pa.Table]] = {}
        common, names = [], set[str]()
        for n, (wave, _) in enumerate(waves):
            steps = {step.name for step in wave.program.steps}
            if self._is_common(wave) and not steps & names:
                common.append(n)
                names |= steps
        for part in (common[at : at + TOGETHER] for at in range(0, len(common), TOGETHER)):
            if len(part) > 1:
                found |= zip(part, self._run_together([waves[n] for n in part]), strict=True)
        for n, (wave, wanted) in enumerate(waves):
            if n not in found:
                found[n] = self._run(wave, wanted)
        return [found[n] for n in range(len(waves))]

    def _is_common(self, wave: Wave) -> bool:
        """Whether a wave may run in one job with others."""
        incremental = wave.choice.strategy in (Strategy.DIFFERENTIAL, Strategy.MERGE)
        return incremental and wave.changes <= LIST_LIMIT and self.execution(wave)[0] != "in-process"

    def _run_together(self, waves: list[tuple[Wave, frozenset[str]]]) -> list[dict[str, pa.Table]]:
        first = waves[0][0]
        given = next((wave.given for wave, _ in waves if wave.given), NOTHING)
        sources = self.sources(first.since, first.until, given)
        begun = perf_counter()
        with self.runner.backend.counted() as jobs:
            programs = [(wave.program, wanted) for wave, wanted in waves]
            found = self.runner.together(programs, sources, first.since, first.until)
        each = (perf_counter() - begun) / len(waves)
        for (wave, _), deltas in zip(waves, found, strict=True):
            seconds = {"plan": wave.seconds, "run": each}
            self._record(
                wave, self.execution(wave), wave.choice.rows, deltas, jobs.number, seconds, together=len(waves)
            )
        return found

    def _recomputed(self, program: Program, since: int, ends: tuple[int, ...], run: Run) -> pa.Table:
        """What recomputing at one instant after the other tells."""
        starts = (since, *ends[:-1])
        pairs = zip(starts, ends, strict=True)
        return pa.concat_tables(run(program, self.sources(s, e), s, e) for s, e in pairs)

    def sources(self, since: int, until: int, given: Given = NOTHING) -> Sources:
        """Where the engine finds the rows of a batch."""

        def source(relation: str, version: Version) -> Source:
            if version is Version.DELTA and relation in given:
                return given[relation]
            return self.catalog.rows(relation).source(version, since, until)

        return source

    # stored views

    def advance(self, until: int) -> None:
        """Bring stored views up to an instant, unless they wait to be told.

        One that fails is marked so, and does not hold up those that do not read it.
        """
        self._together([v for v in self.catalog.stored() if v.refresh is not Refresh.MANUAL], until)

    def follow(self, time: int) -> None:
        """Bring the views along that keep up with every commit."""
        views = [v for v in self.catalog.stored() if v.refresh is Refresh.IMMEDIATE]
        self._together([v for v in views if self._pending(v, time)], time)

    def refresh(self, view: StoredView, until: int) -> None:
        """Bring one stored view up to an instant, however it is refreshed; raises if it fails."""
        self._raise(self._together([view], until))

    def catch_up(self, plan: Relation, until: int, more: Mapping[str, Relation] | None = None) -> None:
        """Bring the stored views a plan reads up to an instant; ``more`` are definitions beside the catalog's."""
        wanted = influents(plan, self.catalog.definitions(until) | dict(more or {}))
        views = [v for v in self.catalog.stored() if v.name in wanted and v.refresh is not Refresh.MANUAL]
        self._raise(self._together(views, min(until, self.settled())))

    def _pending(self, view: StoredView, until: int) -> bool:
        """Whether something a view reads has changed since."""
        if view.is_outdated:
            return True
        try:
            return bool(self.changed(influents(view.plan, self.catalog.definitions()), view.until, until))
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
                stored = {v.name for v in self.catalog.stored()}
                plain = {name: plan for name, plan in self.catalog.definitions().items() if name not in stored}
                for group in shared.groups(behind, plain):
                    done = self._advance_group(group, until) if len(group) > 1 else frozenset()
                    for view in (v for v in group if v.name not in done):
                        try:
                            self._advance(view, until)
                        except (EngineFailed, HistoryGone, RecomputeRefused) as failure:
                            failures.append(failure)
                            self._failed[view.name] = until, failure
                            upkeep.fail(self.storage, view, failure.message)
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
            wave = self._planned(view, shared.Query(view.over, view.groupings), view.until, until, NOTHING)
            if view.strict:
                wave.choice.require_incremental(view.name)
            deltas = self._run(wave, frozenset(view.groupings))
            if wave.choice.strategy is Strategy.RECOMPUTE:
                deltas |= self._recomputed_groupings(view, wave)
        except (EngineFailed, HistoryGone) as failure:
            self._begin_anew(view, until, failure)
            return
        upkeep.advance(self.storage, view, deltas, until)

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
            found = self._run_all([(wave, frozenset(view.groupings)) for view, wave in waves.values()])
            for (view, wave), deltas in zip(waves.values(), found, strict=True):
                if wave.choice.strategy is Strategy.RECOMPUTE:
                    deltas |= self._recomputed_groupings(view, wave)
        except (EngineFailed, HistoryGone):
            return frozenset()  # then one by one, so that it shows which of them fails
        for (view, _), deltas in zip(waves.values(), found, strict=True):
            upkeep.advance(self.storage, view, deltas, until)
        return frozenset(waves)

    def _planned(self, view: StoredView, query: shared.Query, since: int, until: int, given: Given) -> Wave:
        over, groupings = query.over, query.groupings
        return self.plan(view.name, over, since, until, net=False, groupings=groupings, given=given, strict=view.strict)

    def _in_common(self, views: list[StoredView], since: int, until: int) -> dict[str, Source]:
        """The deltas of what several views read, computed once."""
        for view in views:
            self.catch_up(view.plan, until)
        definitions = self.catalog.definitions(since, until)
        given: dict[str, Source] = {}
        for name in shared.in_common([v.plan for v in views], definitions):
            wave = self.plan(name, definitions[name], since, until, net=False, given=dict(given))
            given[name] = Source(wave.program.columns, None, self._run(wave)[name])
        return given

    def _query(self, view: StoredView, given: frozenset[str]) -> shared.Query:
        """A stored view's query over what is given; without it where its groupings do not allow that."""
        if not given:
            return shared.Query(view.over, view.groupings)
        key = (view.name, id(view.over), given)
        if key not in self._queries:
            found = shared.over_shared(view, self.catalog.definitions(), given)
            self._queries[key] = found or shared.Query(view.over, view.groupings)
        return self._queries[key]

    def _recomputed_groupings(self, view: StoredView, wave: Wave) -> dict[str, pa.Table]:
        definitions = self.catalog.definitions(wave.since, wave.until) | view.groupings
        found = {}
        for name, groups in view.groupings.items():
            alone = len(wave.ends) == 1
            program = recompute_program(name, groups, wave.program.changed, definitions, stored=alone)
            near = self.nearby if self.nearby and self.nearby.why_not_again(program) is None else None
            found[name] = self._recomputed(program, wave.since, wave.ends, near.again if near else self.runner.run)
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
        definitions = self.catalog.definitions(at, at) | rest

        def sources(relation: str, version: Version) -> Source:
            return (known.get(relation) or self.catalog.rows(relation)).source(version, 0, at)

        found = {}
        for name in steps(f"filling {view.name}", [n for n in view.tables if n not in known]):
            plan = view.groupings.get(name) or (view.over if known else view.plan)
            found[name] = self.runner.query(normalise(plan, definitions), sources, at)
        upkeep.fill(self.storage, view, found, at)


def _distinct(parts: list[pa.Array]) -> pa.Array:
    """Instants of several tables, each once."""
    return parts[0] if len(parts) == 1 else pc.unique(pa.chunked_array(parts, pa.int64()))


def _size(delta: Source) -> int:
    """The number of changes that are given; they are in memory."""
    return int(delta.changes.num_rows) if isinstance(delta.changes, pa.Table) else 0

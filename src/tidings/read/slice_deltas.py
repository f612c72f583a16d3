"""What a slice of a transaction changes in the answers of queries.

A slice is a batch of its own: its changes are computed by the same programs as for committed batches, and in this
process where these may run there.  So evaluating the condition of a rule costs as much as what the transaction did,
not as much as there is.  What many conditions read of a slice is prepared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import MappingProxyType
from typing import assert_never

import pyarrow as pa

from tidings.engine.source import Source, Sources
from tidings.ir.relation import Column, Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.waves.engines import ProgramResult, ProgramRun
from tidings.waves.record import WaveRecord
from tidings.waves.scheduler import Scheduler
from tidings.waves.slices import SliceKind, SlicePlan
from tidings.waves.strategy import Strategy

NO_ENTRIES: Mapping[str, pa.Table] = MappingProxyType({})


@dataclass(slots=True)
class SliceDeltas:
    """Computes what some changes on top of others make of the rows of plans.

    Both are log entries by relation, ``changes`` of the instant after ``at``.  A relation that the catalog does not
    know has no rows but these.
    """

    scheduler: Scheduler
    at: int
    before: Mapping[str, pa.Table]
    changes: Mapping[str, pa.Table]
    _committed: Sources = field(init=False)
    _sources: dict[tuple[str, Version], Source] = field(init=False, default_factory=dict)
    """Rows of relations of the catalog, in the slice."""
    _before: frozenset[str] = field(init=False)
    _changes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._committed = self.scheduler.executor.sources(0, self.at)
        self._before, self._changes = frozenset(self.before), frozenset(self.changes)

    def delta(
        self,
        name: str,
        plan: Relation,
        precomputed: Mapping[str, pa.Table] = NO_ENTRIES,
        beside: Mapping[str, pa.Table] = NO_ENTRIES,
    ) -> pa.Table:
        """The changes of a plan.

        ``precomputed`` has what the slice makes of some views below it, ``beside`` the rows of relations that only this
        plan reads, as entries of before the slice.
        """
        begun = perf_counter()
        run = self._program_run(name, plan, precomputed, beside)
        result = self.scheduler.engines.run(run)
        self._record(run, result, perf_counter() - begun, 1)
        return result.deltas[run.program.view]

    def deltas(
        self,
        plans: Mapping[str, Relation],
        precomputed: Mapping[str, pa.Table] = NO_ENTRIES,
        beside: Mapping[str, pa.Table] = NO_ENTRIES,
    ) -> dict[str, pa.Table]:
        """The same for several plans by name; on the database's engine small ones run in common jobs."""
        begun = perf_counter()
        runs = [self._program_run(name, plan, precomputed, beside) for name, plan in plans.items()]
        results = self.scheduler.engines.run_all(runs)
        taken = perf_counter() - begun
        for run, result in zip(runs, results, strict=True):
            self._record(run, result, taken / len(runs), len(runs))
        return {run.program.view: result.deltas[run.program.view] for run, result in zip(runs, results, strict=True)}

    def _record(self, run: ProgramRun, result: ProgramResult, seconds: float, together: int) -> None:
        """Remember what was judged, and how."""
        anew = bool(run.recompute_at)
        self.scheduler.executor.keep(
            WaveRecord(
                view=run.program.view,
                since=run.since,
                until=run.until,
                strategy=(Strategy.RECOMPUTE if anew else Strategy.DIFFERENTIAL).value,
                reason="judged inside a transaction",
                execution=result.choice.execution,
                why=result.choice.why,
                changes=run.changes,
                rows_read=result.rows_read or 0,
                rows=result.deltas[run.program.view].num_rows,
                jobs=None,
                seconds={"run": seconds},
                together=together,
                in_transaction=True,
            )
        )

    def views_in_common(self, plans: Mapping[str, Relation]) -> dict[str, Relation]:
        """The views with touched tables below them that several plans read, each after those it reads."""
        return self.scheduler.slices.views_in_common(plans, self.at, self._changes)

    def _program_run(
        self, name: str, plan: Relation, precomputed: Mapping[str, pa.Table], beside: Mapping[str, pa.Table]
    ) -> ProgramRun:
        scheduler, at = self.scheduler, self.at
        scheduler.catch_up(plan, at)
        views_changed = frozenset(view for view, delta in precomputed.items() if delta.num_rows)
        before = self._before.union(beside) if beside else self._before
        kind = SliceKind(before, self._changes, frozenset(precomputed), views_changed)
        sliced = scheduler.slices.plan(name, plan, at, kind)
        source = self._plan_sources(plan, sliced, precomputed, beside)
        size = sum((precomputed[r] if r in sliced.precomputed else self.changes[r]).num_rows for r in sliced.changed)
        anew = (at + 1,) if sliced.is_recompute else ()
        return ProgramRun(sliced.program, lambda _since, _until: source, at, at + 1, changes=size, recompute_at=anew)

    # where rows are

    def _plan_sources(
        self, plan: Relation, sliced: SlicePlan, precomputed: Mapping[str, pa.Table], beside: Mapping[str, pa.Table]
    ) -> Sources:
        """Where the rows are that the program of a plan reads."""
        own: dict[str, Source] = {}
        local: dict[tuple[str, Version], Source] = {}
        before = {**self.before, **beside} if beside else self.before

        def source(relation: str, version: Version) -> Source:
            if relation in own:
                return own[relation]
            key = relation, version
            known = self._sources.get(key) or local.get(key)
            if known is None:
                is_local = self.scheduler.relations.find(relation) is None
                committed = self._no_rows(plan, relation, before) if is_local else self._committed_rows(relation)
                known = self._in_slice(committed, relation, version, before)
                (local if is_local else self._sources)[key] = known
            return known

        if not sliced.is_recompute:
            own |= {
                view: Source(_columns(sliced.definitions[view]), None, precomputed[view]) for view in sliced.precomputed
            }
            own |= self._recursive(sliced, source, beside)
        return source

    def _in_slice(self, committed: Source, relation: str, version: Version, before: Mapping[str, pa.Table]) -> Source:
        """A version of a relation, given its committed rows."""
        if relation not in before and relation not in self.changes:
            return committed
        old = [committed.changes, *([before[relation]] if relation in before else [])]
        new = [self.changes[relation]] if relation in self.changes else []
        match version:
            case Version.DELTA:
                return Source(committed.columns, None, self.changes[relation])
            case Version.OLD:
                return replace(committed, changes=pa.concat_tables(old))
            case Version.NEW | Version.CURRENT:
                return replace(committed, changes=pa.concat_tables(old + new))
            case _:
                assert_never(version)

    def _committed_rows(self, relation: str) -> Source:
        return self._committed(relation, Version.CURRENT)

    def _no_rows(self, plan: Relation, relation: str, before: Mapping[str, pa.Table]) -> Source:
        """What is committed of a relation that the catalog does not know."""
        entries = self.changes[relation] if relation in self.changes else before[relation]
        columns = next(n.columns for n in walk(plan) if isinstance(n, Scan) and n.relation == relation)
        return Source(columns, None, entries.slice(0, 0))

    def _recursive(self, sliced: SlicePlan, source: Sources, beside: Mapping[str, pa.Table]) -> dict[str, Source]:
        """The changes of the recursions that a plan reads."""
        if not sliced.recursions:
            return {}

        def changes_of(label: str, inner: Relation) -> pa.Table:
            return self.delta(label, inner, beside=beside)

        def old_rows(relation: str, _version: Version) -> Source:
            return source(relation, Version.OLD)

        recursion = self.scheduler.recursion
        return recursion.in_slice(sliced.recursions, sliced.definitions, changes_of, old_rows, self.at)


def _columns(query: Relation) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type) for f in query.fields)

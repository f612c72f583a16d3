"""Small waves in this process: fetch the few rows they touch, and finish on the second engine.

Spark takes a good part of a second to plan a wave of some joins, however few rows it is about.  So with ``execution =
"auto"`` the rows a step needs of each state are looked up first (:mod:`tidings.delta.lookups`), and the step itself is
then run by a DuckDB in this process, which also goes through files where a lookup has to.  What it goes through again
and again is held in memory, as far as there is room.  What is in no file is asked of the first engine, together.

Only steps on whose every expression both engines agree (:mod:`tidings.analysis.agreed_plan`); others are the first
engine's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tidings.analysis.agreed_plan import disagreement
from tidings.delta.lookups import Lookup, looked_up
from tidings.delta.plan import Program, Step
from tidings.engine.arrow import arrow_schema
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.lookups import SCANNED, WHOLE, LookupCache, StepLookups, kept
from tidings.waves.in_process.snapshot_cache import SnapshotCache

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB

AT_HAND = 3_000_000
"""Up to this many changed rows a batch may run here: they are in this process."""


class InProcessDeltas(NamedTuple):
    """What a wave in this process found, how many rows it looked up for that, and how long the lookups took."""

    deltas: dict[str, pa.Table]
    rows: int
    seconds: float


class _Prepared(NamedTuple):
    """A step as it is run."""

    step: Step
    lookups: tuple[Lookup, ...]
    """What is looked up for it; nothing for a step of the first engine."""
    disagreed: str | None
    """What the engines may not agree on in it."""


def _prepared(step: Step) -> _Prepared:
    disagreed = disagreement(step.plan)
    if disagreed is not None:
        return _Prepared(step, (), disagreed)
    found = looked_up(step)
    return _Prepared(found.step, found.lookups, None)


@dataclass(slots=True)
class InProcessRunner:
    """Runs waves in this process where it may."""

    storage: Storage
    runner: Runner
    """Runs steps on the database's own engine."""
    second: DuckDB
    second_runner: Runner = field(init=False)
    """Runs steps on the second engine."""
    _prepared: dict[int, tuple[Program, list[_Prepared]]] = field(default_factory=dict)
    _batch: tuple[int, int] = (0, 0)
    _known: LookupCache = field(default_factory=LookupCache)
    _snapshot_cache: SnapshotCache = field(init=False)

    def __post_init__(self) -> None:
        self.second_runner, self._snapshot_cache = Runner(self.second), SnapshotCache(self.second)

    def obstacle(self, program: Program, changes: int) -> str | None:
        """What speaks against running a program here; None if nothing does."""
        if changes > AT_HAND:
            return f"{changes:,} changed rows are more than {AT_HAND:,}"
        steps = self._prepare(program)
        if steps and all(step.disagreed is not None for step in steps):
            return f"the engines may not agree on {steps[-1].disagreed}"
        for lookup in (lookup for step in steps for lookup in step.lookups):
            table = kept(self.storage, lookup.relation)
            if table is not None and lookup.column is None and table.base_size > self._limit(table):
                return f"{lookup.relation} is read whole"
        return None

    def recompute_obstacle(self, program: Program) -> str | None:
        """What speaks against a recompute here."""
        disagreed = next((s.disagreed for s in self._prepare(program) if s.disagreed is not None), None)
        if disagreed is not None:
            return f"the engines may not agree on {disagreed}"
        tables = [self.storage.relations.rows(r) for r in _relations(program)]
        if any(t.base is not None and t.id not in self.storage.snapshots.files for t in tables):
            return "not all rows are in files"
        rows = sum(t.base_size for t in tables)
        return f"a recompute of {rows:,} rows" if rows > SCANNED else None

    def recompute(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of a recompute, over files."""
        for table in map(self.storage.relations.rows, _relations(program)):
            if table.base is not None:
                self._snapshot_cache.rows(table, self.storage.snapshots.files[table.id])
        return self.second_runner.run(program, sources, since, until)

    def _limit(self, table: Table) -> int:
        """Up to how many rows a relation may be read whole; much more from files, which is not all held in memory."""
        return SCANNED if table.id in self.storage.snapshots.files else WHOLE

    def _prepare(self, program: Program) -> list[_Prepared]:
        """What is known of a program without its rows, found out once."""
        if id(program) not in self._prepared:
            steps = list(map(_prepared, program.steps))
            self._prepared[id(program)] = program, steps
            self._known.steps[id(program)] = tuple(lookup for step in steps for lookup in step.lookups)
        return self._prepared[id(program)][1]

    def forget(self) -> None:
        """Forget programs: a definition has changed."""
        self._prepared.clear()
        self._known = LookupCache()
        self._snapshot_cache.forget()

    def run(
        self, program: Program, sources: Sources, since: int, until: int, wanted: frozenset[str]
    ) -> InProcessDeltas:
        """The deltas of a program's view and of those of its lower steps that are wanted.

        Raises :class:`LookupTooLarge` where that would read too much.  Steps on which the engines may not agree are
        the first engine's, over the deltas of the others.
        """
        if self._batch != (since, until):
            self._batch = since, until
            self._known.fetched.clear()
        made: dict[str, Source] = {}
        deltas: dict[str, pa.Table] = {}
        rows, seconds = 0, 0.0
        for step, lookups, disagreed in self._prepare(program):
            if self.second_runner.is_still(program, step, sources, made):
                delta = arrow_schema(step.columns, versioned=True).empty_table()
            else:
                work = StepLookups(
                    self.storage, self.second_runner, self._snapshot_cache, self._known, sources, made, since, until
                )
                begun = perf_counter()
                work.look_up(lookups)
                seconds += perf_counter() - begun
                rows += work.rows
                delta = work.run(step, self.second_runner if disagreed is None else self.runner)
            made[step.name] = Source(step.columns, None, delta)
            if step.name in wanted or step.name == program.view:
                deltas[step.name] = delta
        return InProcessDeltas(deltas, rows, seconds)


def _relations(program: Program) -> set[str]:
    """What a program reads."""
    return {scan.relation for step in program.steps for scan in step.scans}

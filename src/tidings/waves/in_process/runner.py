"""Runs small waves in this process: looks up the few rows they touch, and finishes on the second engine.

Spark takes a good part of a second to plan a wave of some joins, however few rows it is about.  So with ``execution =
"auto"`` the rows that a step needs of each state are looked up first (:mod:`tidings.delta.lookups`), and the step
itself is then run by a DuckDB in this process, which also scans files where a lookup has to.  Columns that it scans
repeatedly are cached in memory, as far as there is room.  Rows that are in no file are asked of the database's engine,
in one query.

Only steps on whose every expression both engines agree (:mod:`tidings.engine.agreed.plan`) run here; the others run
on the database's engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.lookups import Fanouts, Lookup, looked_up
from tidings.delta.plan import Program, Step
from tidings.delta.relevance import Relevance, relevance
from tidings.engine.agreed.plan import Disagreement, agreed_plan
from tidings.engine.changes import as_changes, no_changes
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.engine.stepping_out import SteppingOut
from tidings.ir.relation import Relation, Scan, Version
from tidings.ir.traverse import walk
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.lookup_cache import LookupCache
from tidings.waves.in_process.lookups import StepLookups
from tidings.waves.in_process.relevance_check import RelevanceCheck
from tidings.waves.in_process.small_steps import SmallSteps
from tidings.waves.in_process.snapshot_cache import SnapshotCache
from tidings.waves.in_process.snapshot_reader import SCAN_LIMIT, WHOLE_LIMIT, SnapshotReader, table_of
from tidings.waves.on_engine.runner import EngineRunner
from tidings.waves.step_inputs import StepInputs

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB

CHANGES_LIMIT = 3_000_000
"""Up to this many changed rows a batch may run here: they are in this process already."""


class InProcessDeltas(NamedTuple):
    """The deltas of a wave in this process, how many rows it looked up, and how long the lookups took."""

    deltas: dict[str, pa.Table]
    rows: int
    seconds: float


class _PreparedStep(NamedTuple):
    """A step as it is run."""

    step: Step
    lookups: tuple[Lookup, ...]
    """What is looked up for it; nothing for a step of the database's engine."""
    disagreement: str | None
    """What the engines may not agree on in it."""
    relevance: Relevance | None
    """Which changes matter to it, if that can be told."""
    read_whole: tuple[str, ...] = ()
    """What is looked up without a key."""


def _agreed(step: Step) -> Step | Disagreement:
    """A step in words by which DuckDB says what Spark would."""
    plan = agreed_plan(step.plan)
    return plan if isinstance(plan, Disagreement) else replace(step, plan=plan)


def _prepared(step: Step, fanouts: Fanouts) -> _PreparedStep:
    """A step as it is run."""
    agreed = _agreed(step)
    if isinstance(agreed, Disagreement):
        return _PreparedStep(step, (), agreed.what, None)
    over_lookups = looked_up(agreed, fanouts)
    read_whole = tuple(lookup.relation for lookup in over_lookups.lookups if lookup.column is None)
    return _PreparedStep(over_lookups.step, over_lookups.lookups, None, relevance(agreed.plan), read_whole)


@dataclass(slots=True)
class InProcessRunner:
    """Runs waves in this process where it may."""

    storage: Storage
    on_engine: EngineRunner
    """Runs steps on the database's engine."""
    second: DuckDB
    compiled: CompiledPlans
    second_runner: Runner = field(init=False)
    """Runs steps on the second engine."""
    _batch: tuple[int, int] = field(init=False, default=(0, 0))
    _prepared: dict[Identity[Program], list[_PreparedStep]] = field(init=False)
    _recomputed: dict[Identity[Step], Step | Disagreement] = field(init=False)
    """Steps of recomputes, which look nothing up."""
    _lookup_cache: LookupCache = field(init=False)
    _snapshot_cache: SnapshotCache = field(init=False)
    _snapshots: SnapshotReader = field(init=False)
    _small_steps: SmallSteps = field(init=False)
    _relevance_check: RelevanceCheck = field(init=False)

    @property
    def cached_bytes(self) -> int:
        """How many bytes the columns of snapshots take that are in memory, about."""
        return self._snapshot_cache.bytes

    def __post_init__(self) -> None:
        self.second_runner = Runner(self.second, self.compiled, is_said=True)
        self._prepared, self._recomputed = self.compiled.section(), self.compiled.section()
        self._lookup_cache = LookupCache(self.compiled)
        self._snapshot_cache = SnapshotCache(self.second)
        self.compiled.on_forget(self._snapshot_cache.forget)
        self._snapshots = SnapshotReader(self.storage, self.second_runner, self._snapshot_cache, self._lookup_cache)
        self._small_steps = SmallSteps(self.second, self.compiled, self.on_engine.memory.prepared)
        self._relevance_check = RelevanceCheck(self._small_steps, self.compiled)

    def close(self) -> None:
        """Close the second engine."""
        self._small_steps.close()
        self.second.close()

    def obstacle(self, program: Program, changes: int) -> str | None:
        """What speaks against running a program here; None if nothing does."""
        if changes > CHANGES_LIMIT:
            return f"{changes:,} changed rows are more than {CHANGES_LIMIT:,}"
        steps = self._prepare(program)
        if steps and all(step.disagreement is not None for step in steps):
            return f"the engines may not agree on {steps[-1].disagreement}"
        for relation in (relation for step in steps for relation in step.read_whole):
            table = table_of(self.storage, relation)
            if table is not None and table.base_size > self._whole_limit(table):
                return f"{relation} is read whole"
        return None

    def recompute_obstacle(self, program: Program) -> str | None:
        """What speaks against a recompute here; None if nothing does."""
        for step in map(self._recompute_step, program.steps):
            if isinstance(step, Disagreement):
                return f"the engines may not agree on {step.what}"
        tables = [self.storage.relations.rows(r) for r in _relations(program)]
        if any(t.base is not None and t.id not in self.storage.snapshots.files for t in tables):
            return "not all rows are in files"
        rows = sum(t.base_size for t in tables)
        return f"a recompute of {rows:,} rows" if rows > SCAN_LIMIT else None

    def recompute(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of a recompute, over files."""
        for table in map(self.storage.relations.rows, _relations(program)):
            if table.base is not None:
                self._snapshot_cache.rows(table, self.storage.snapshots.files[table.id])
        steps = tuple(step for step in map(self._recompute_step, program.steps) if isinstance(step, Step))
        return self.second_runner.run(replace(program, steps=steps), sources, since, until)

    def query(self, plan: Relation, sources: Sources, at: int, step_out: SteppingOut | None = None) -> pa.Table | None:
        """The rows of a plan at an instant, over files; None if nothing but the database's engine can tell."""
        agreed = agreed_plan(plan)
        if isinstance(agreed, Disagreement):
            return None
        scanned = {scan.relation for scan in walk(agreed) if isinstance(scan, Scan)}
        states = self._states({relation: sources(relation, Version.CURRENT) for relation in scanned})
        return None if states is None else self.second_runner.query(agreed, lambda r, _version: states[r], at, step_out)

    def _states(self, states: dict[str, Source]) -> dict[str, Source] | None:
        """States as the second engine reads them; None if not all of their rows are in files or in this process."""
        based = {table.base: table for table in self.storage.tables() if table.base is not None}
        changes = [state.changes.num_rows for state in states.values() if isinstance(state.changes, pa.Table)]
        bases = [based.get(state.base) for state in states.values() if state.base is not None]
        tables = [table for table in bases if table is not None and self._is_at_hand(table)]
        if len(changes) < len(states) or len(tables) < len(bases) or sum(changes) > CHANGES_LIMIT:
            return None
        if sum(table.base_size for table in tables) > SCAN_LIMIT:
            return None
        for table in tables:
            if table.base_rows is None:
                self._snapshot_cache.rows(table, self.storage.snapshots.files[table.id])
        in_memory = {table.base: table.base_rows for table in tables if table.base_rows is not None}
        return {relation: _with_base(state, in_memory.get(state.base)) for relation, state in states.items()}

    def _is_at_hand(self, table: Table) -> bool:
        """Whether the base rows of a table are in this process or in files."""
        return table.base_rows is not None or table.id in self.storage.snapshots.files

    def _recompute_step(self, step: Step) -> Step | Disagreement:
        """A step of a recompute as it is run here, prepared once."""
        key = Identity(step)
        if key not in self._recomputed:
            self._recomputed[key] = _agreed(step)
        return self._recomputed[key]

    def run(
        self, program: Program, sources: Sources, since: int, until: int, outputs: frozenset[str]
    ) -> InProcessDeltas:
        """The deltas of a program's view and of some of its lower steps.

        Raises :class:`LookupTooLarge` where that would read too much.  Steps on which the engines may not agree run on
        the database's engine, over the deltas of the others.
        """
        if self._batch != (since, until):
            self._batch = since, until
            self._lookup_cache.begin_batch()
            self._relevance_check.begin_batch()
        step_deltas: dict[str, Source] = {}
        deltas: dict[str, pa.Table] = {}
        rows, seconds = 0, 0.0
        for prepared in self._prepare(program):
            step, inputs = prepared.step, StepInputs(sources, step_deltas, since, until)
            is_still = self.second_runner.is_still(program, step, sources, step_deltas)
            if is_still or not self._is_relevant(prepared, inputs):
                delta = no_changes(step.columns)
            else:
                begun = perf_counter()
                rows += self._look_up(prepared.lookups, inputs)
                seconds += perf_counter() - begun
                delta = self._finish(step, inputs, agreed=prepared.disagreement is None)
            step_deltas[step.name] = Source(step.columns, None, delta)
            if step.name in outputs or step.name == program.view:
                deltas[step.name] = delta
        return InProcessDeltas(deltas, rows, seconds)

    def _is_relevant(self, prepared: _PreparedStep, inputs: StepInputs) -> bool:
        """Whether some change of the batch may matter to a step."""
        if prepared.relevance is None:
            return True
        return self._relevance_check.is_relevant(prepared.relevance, inputs, alone=bool(prepared.lookups))

    def _finish(self, step: Step, inputs: StepInputs, *, agreed: bool) -> pa.Table:
        """The delta of a step over its inputs."""
        if agreed:
            delta = self._small_steps.run(step, inputs.source, inputs.since, inputs.until)
            if delta is not None:
                return delta
        runner = self.second_runner if agreed else self.on_engine
        return runner.step(step, inputs.source, inputs.since, inputs.until)

    def _look_up(self, lookups: tuple[Lookup, ...], inputs: StepInputs) -> int:
        """Make the lookups of a step; the number of rows that these read."""
        step_lookups = StepLookups(
            self.storage, self.second_runner, self._small_steps, self._snapshots, self._lookup_cache, inputs
        )
        step_lookups.fetch(lookups)
        return step_lookups.rows_read

    def _whole_limit(self, table: Table) -> int:
        """Up to how many rows a table may be read whole; many more from files, which are not all in memory."""
        return SCAN_LIMIT if table.id in self.storage.snapshots.files else WHOLE_LIMIT

    def _prepare(self, program: Program) -> list[_PreparedStep]:
        """The steps of a program with their lookups, prepared once."""
        key = Identity(program)
        if key not in self._prepared:
            steps = [_prepared(step, self.storage.fanout_of) for step in program.steps]
            self._prepared[key] = steps
            self._lookup_cache.add(program, tuple(lookup for step in steps for lookup in step.lookups))
            for step in steps:
                self._relevance_check.add(step.relevance or ())
        return self._prepared[key]


def _with_base(state: Source, base: pa.Table | None) -> Source:
    """A state whose base rows are in this process, with these among its changes."""
    if base is None or not isinstance(state.changes, pa.Table):
        return state
    return Source(state.columns, None, pa.concat_tables([as_changes(state.columns, base), state.changes]))


def _relations(program: Program) -> set[str]:
    """The relations that a program reads."""
    return {scan.relation for step in program.steps for scan in step.scans}

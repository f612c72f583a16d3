"""Runs differentials on the database's engine over rows that were looked up first.

A step that joins a delta with five states is, as one query of Spark, a plan with an exchange for nearly every
operator, over all rows of each state, and so are the next steps.  But the rows of the states that meet the delta are
few.  So they are looked up first (:mod:`tidings.waves.on_engine.lookup_rounds`), and the step itself is then one small
job over rows in memory, in one task.

Steps that can be one small job without lookups, because all their keys fit into lists, stay that.  Steps whose lookups
would be too large run as one query over the states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import pyarrow as pa

from tidings.compiled import CompiledPlans, Identity
from tidings.delta.lookups import LookedUp, looked_up
from tidings.delta.plan import Program, Step
from tidings.engine.changes import no_changes
from tidings.engine.fixpoint import has_fixpoint
from tidings.engine.memory import MemoryBudget
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.store.storage import Storage
from tidings.waves.on_engine.lookup_rounds import LookupRounds
from tidings.waves.on_engine.recent_lookups import RecentLookups
from tidings.waves.on_engine.recompute import EngineRecompute
from tidings.waves.on_engine.small_relations import SmallRelations
from tidings.waves.step_inputs import LookupTooLarge, StepInputs

CHANGES_LIMIT = 300_000
"""Up to so many changed rows a batch runs over rows looked up."""


class EngineDeltas(NamedTuple):
    """The deltas of a wave on the engine, how many rows it looked up, and how long the lookups took."""

    deltas: dict[str, pa.Table]
    rows: int
    seconds: float


@dataclass(slots=True)
class EngineRunner:
    """Runs programs on the database's engine, step by step."""

    storage: Storage
    runner: Runner
    compiled: CompiledPlans
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    _looked_up: dict[Identity[Step], LookedUp] = field(init=False)
    """Steps over lookups."""
    _small_relations: SmallRelations = field(init=False)
    _recent: RecentLookups = field(init=False)

    def __post_init__(self) -> None:
        self._looked_up = self.compiled.section()
        self._small_relations = SmallRelations(self.memory.small_relations)
        self._recent = RecentLookups(self.memory.recent_lookups)
        self.compiled.on_forget(self._small_relations.forget)
        self.compiled.on_forget(self._recent.forget)

    def obstacle(self, changes: int) -> str | None:
        """What speaks against looking rows up first; None if nothing does."""
        if not self.runner.backend.looks_up_first:
            return f"{self.runner.backend.name} reads states as they are"
        return f"{changes:,} changed rows are more than {CHANGES_LIMIT:,}" if changes > CHANGES_LIMIT else None

    def run(self, program: Program, sources: Sources, since: int, until: int, outputs: frozenset[str]) -> EngineDeltas:
        """The deltas of a program's view and of some of its lower steps."""
        step_deltas: dict[str, Source] = {}
        deltas = {} if program.steps else {program.view: no_changes(program.columns)}
        rows, seconds = 0, 0.0
        for step in program.steps:
            if self.runner.is_still(program, step, sources, step_deltas):
                delta = no_changes(step.columns)
            else:
                inputs, begun = StepInputs(sources, step_deltas, since, until), perf_counter()
                over_lookups = self._look_up(step, inputs)
                rows += over_lookups.rows
                seconds += perf_counter() - begun
                run = self.runner.finish if over_lookups.is_ready else self.runner.step
                delta = run(over_lookups.step, inputs.source, since, until)
            step_deltas[step.name] = Source(step.columns, None, delta)
            if step.name in outputs or step.name == program.view:
                deltas[step.name] = delta
        return EngineDeltas(deltas, rows, seconds)

    def recompute(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of a step of a recompute."""
        if not self.runner.backend.looks_up_first:
            return self.runner.run(program, sources, since, until)
        return EngineRecompute(self.storage, self.runner, self._small_relations).run(program, sources, since, until)

    def step(self, step: Step, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of one step over deltas and states; rows are looked up first if that is faster."""
        if self.obstacle(0) is not None:
            return self.runner.step(step, sources, since, until)
        alone = Program(step.name, frozenset(), step.columns, (step,))
        return self.run(alone, sources, since, until, frozenset()).deltas[step.name]

    def _look_up(self, step: Step, inputs: StepInputs) -> _ReadyStep:
        """Make the lookups of a step, unless it is small without them or they would be too large."""
        if has_fixpoint(step.plan):
            return _ReadyStep(step, 0, is_ready=False)
        if self.runner.is_small(step, inputs.source):
            return _ReadyStep(step, 0, is_ready=False)
        key = Identity(step)
        if key not in self._looked_up:
            self._looked_up[key] = looked_up(step, self.storage.fanout_of)
        over_lookups = self._looked_up[key]
        rounds = LookupRounds(self.storage, self.runner, self._small_relations, self._recent, inputs)
        try:
            rounds.fetch(over_lookups.lookups)
        except LookupTooLarge:
            return _ReadyStep(step, rounds.rows_read, is_ready=False)
        return _ReadyStep(over_lookups.step, rounds.rows_read, is_ready=True)


class _ReadyStep(NamedTuple):
    """A step to be run, how many rows were looked up for it, and whether all it reads is in memory."""

    step: Step
    rows: int
    is_ready: bool

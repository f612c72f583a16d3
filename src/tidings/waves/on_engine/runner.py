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
from tidings.engine.memory import MemoryBudget
from tidings.engine.recursion.fixpoint import has_fixpoint
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.store.storage import Storage
from tidings.waves.on_engine.lookup_rounds import LookupRounds, fetch_together
from tidings.waves.on_engine.recent_lookups import RecentLookups
from tidings.waves.on_engine.recompute import EngineRecompute
from tidings.waves.on_engine.small_relations import SmallRelations
from tidings.waves.step_inputs import StepInputs

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

    def run_all(self, programs: list[Program], sources: Sources, since: int, until: int) -> list[pa.Table]:
        """The deltas of the views of several programs over one batch.

        The first steps of all run as one query, over rows that one query per round has looked up, then the second ones,
        and so on.
        """
        step_deltas: list[dict[str, Source]] = [{} for _ in programs]
        for place in range(max(len(program.steps) for program in programs)):
            running: list[tuple[dict[str, Source], Step, StepInputs]] = []
            for program, deltas in zip(programs, step_deltas, strict=True):
                step = program.steps[place] if place < len(program.steps) else None
                if step is not None and self.runner.is_still(program, step, sources, deltas):
                    deltas[step.name] = Source(step.columns, None, no_changes(step.columns))
                elif step is not None:
                    running.append((deltas, step, StepInputs(sources, deltas, since, until)))
            results = self._run_steps([(step, inputs) for _, step, inputs in running])
            for (deltas, step, _), delta in zip(running, results, strict=True):
                deltas[step.name] = Source(step.columns, None, delta)
        return [_delta(program, deltas) for program, deltas in zip(programs, step_deltas, strict=True)]

    def _run_steps(self, steps: list[tuple[Step, StepInputs]]) -> list[pa.Table]:
        """The deltas of steps of several programs, in one query but for those whose lookups are too large."""
        over_lookups = self._look_up_together(steps)
        common = [(step, inputs.source) for (_, inputs), step in zip(steps, over_lookups, strict=True) if step]
        since, until = (steps[0][1].since, steps[0][1].until) if steps else (0, 0)
        results = iter(self.runner.steps(common, since, until))
        return [
            self.runner.step(step, inputs.source, since, until) if small is None else next(results)
            for (step, inputs), small in zip(steps, over_lookups, strict=True)
        ]

    def _look_up_together(self, steps: list[tuple[Step, StepInputs]]) -> list[Step | None]:
        """Make the lookups of several steps; the steps over them, None where they would be too large."""
        rounds: dict[int, LookupRounds] = {}
        over_lookups: list[Step | None] = []
        for place, (step, inputs) in enumerate(steps):
            over_lookups.append(step)
            if not self.runner.is_small(step, inputs.source):
                over_lookups[place] = self._over_lookups(step).step
                rounds[place] = self._rounds(inputs)
        fetch_together([(each, self._over_lookups(steps[place][0]).lookups) for place, each in rounds.items()])
        for place, each in rounds.items():
            if each.too_large:
                over_lookups[place] = None
        return over_lookups

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
        over_lookups, rounds = self._over_lookups(step), self._rounds(inputs)
        fetch_together([(rounds, over_lookups.lookups)])
        if rounds.too_large:
            return _ReadyStep(step, rounds.rows_read, is_ready=False)
        return _ReadyStep(over_lookups.step, rounds.rows_read, is_ready=True)

    def _over_lookups(self, step: Step) -> LookedUp:
        """A step over lookups; found out once."""
        key = Identity(step)
        if key not in self._looked_up:
            self._looked_up[key] = looked_up(step, self.storage.fanout_of)
        return self._looked_up[key]

    def _rounds(self, inputs: StepInputs) -> LookupRounds:
        return LookupRounds(self.storage, self.runner, self._small_relations, self._recent, inputs)


def _delta(program: Program, deltas: dict[str, Source]) -> pa.Table:
    """The delta of a program's view, among those of its steps."""
    return deltas[program.view].changes if program.steps else no_changes(program.columns)


class _ReadyStep(NamedTuple):
    """A step to be run, how many rows were looked up for it, and whether all it reads is in memory."""

    step: Step
    rows: int
    is_ready: bool

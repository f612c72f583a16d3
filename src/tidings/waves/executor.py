"""Running waves: on the engine, in this process, or several small ones in one job; what each took is recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeAlias

import pyarrow as pa

from tidings.delta.plan import Program
from tidings.engine.run import LIST_LIMIT, Runner
from tidings.engine.source import Source, Sources
from tidings.errors import EngineFailed
from tidings.ir.relation import Version
from tidings.waves.in_process.lookups import LookupTooLarge
from tidings.waves.in_process.runner import InProcessDeltas, InProcessRunner
from tidings.waves.planner import Planner
from tidings.waves.record import WaveRecord
from tidings.waves.strategy import Strategy
from tidings.waves.wave import NOTHING, Given, Wave

RECORDS = 1000
"""So many waves are remembered."""

TOGETHER = 40
"""So many small waves run in one job."""

Run: TypeAlias = Callable[[Program, Sources, int, int], pa.Table]
"""What runs a program over a batch, and gives its delta."""


@dataclass(slots=True)
class Executor:
    """Runs planned waves."""

    planner: Planner
    records: deque[WaveRecord] = field(default_factory=lambda: deque(maxlen=RECORDS))

    @property
    def runner(self) -> Runner:
        """What runs programs on the database's engine."""
        return self.planner.runner

    def sources(self, since: int, until: int, given: Given = NOTHING) -> Sources:
        """Where the engine finds the rows of a batch."""

        def source(relation: str, version: Version) -> Source:
            if version is Version.DELTA and relation in given:
                return given[relation]
            return self.planner.relations.rows(relation).source(version, since, until)

        return source

    def run(self, wave: Wave, wanted: frozenset[str] = frozenset()) -> dict[str, pa.Table]:
        """The deltas of a wave's view and of those of its groupings that are wanted; what it took is recorded."""
        sources = self.sources(wave.since, wave.until, wave.given)
        if wave.choice.strategy is Strategy.NOTHING:
            return self.runner.deltas(wave.program, sources, wave.since, wave.until)
        execution, why = self.planner.execution(wave)
        seconds, rows = {"plan": wave.seconds}, wave.choice.rows
        begun, deltas = perf_counter(), None
        with self.runner.backend.counted() as jobs:
            if execution == "in-process" and self.planner.in_process is not None:
                try:
                    found = self._run_nearby(self.planner.in_process, wave, sources, wanted)
                except (
                    LookupTooLarge,
                    EngineFailed,
                ) as reason:  # if this engine cannot do it, the other one can or says why
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

    def _run_nearby(
        self, in_process: InProcessRunner, wave: Wave, sources: Sources, wanted: frozenset[str]
    ) -> InProcessDeltas:
        if wave.choice.strategy is not Strategy.RECOMPUTE:
            return in_process.run(wave.program, sources, wave.since, wave.until, wanted)
        delta = self._recomputed(wave.program, wave.since, wave.ends, in_process.recompute)
        return InProcessDeltas({wave.program.view: delta}, wave.choice.rows, 0.0)

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

    def run_all(self, waves: list[tuple[Wave, frozenset[str]]]) -> list[dict[str, pa.Table]]:
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
                found[n] = self.run(wave, wanted)
        return [found[n] for n in range(len(waves))]

    def _is_common(self, wave: Wave) -> bool:
        """Whether a wave may run in one job with others."""
        incremental = wave.choice.strategy in (Strategy.DIFFERENTIAL, Strategy.MERGE)
        return incremental and wave.changes <= LIST_LIMIT and self.planner.execution(wave)[0] != "in-process"

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
                wave, self.planner.execution(wave), wave.choice.rows, deltas, jobs.number, seconds, together=len(waves)
            )
        return found

    def recomputed(self, program: Program, since: int, ends: tuple[int, ...]) -> pa.Table:
        """What recomputing something beside a wave tells, in this process if it may run there."""
        in_process = self.planner.in_process
        here = in_process is not None and in_process.recompute_obstacle(program) is None
        return self._recomputed(program, since, ends, in_process.recompute if in_process and here else self.runner.run)

    def _recomputed(self, program: Program, since: int, ends: tuple[int, ...], run: Run) -> pa.Table:
        """What recomputing at one instant after the other tells."""
        starts = (since, *ends[:-1])
        pairs = zip(starts, ends, strict=True)
        return pa.concat_tables(run(program, self.sources(s, e), s, e) for s, e in pairs)

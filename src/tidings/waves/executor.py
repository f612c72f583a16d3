"""Runs planned waves, several small ones in one job, and records what each took."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from time import perf_counter

import pyarrow as pa

from tidings.engine.run import LIST_LIMIT, Runner
from tidings.engine.source import Source, Sources
from tidings.errors import EngineFailed
from tidings.ir.relation import Version
from tidings.logs import DEBUG, INFO, WAVE, tell
from tidings.running_statements import checkpoint
from tidings.store.relation.relations import Relations
from tidings.watchdog import TimeLimit, Watchdog
from tidings.waves.engines import IN_PROCESS, EngineChoice, Engines, ProgramRun, common_jobs
from tidings.waves.experience import Experience, Way
from tidings.waves.record import StoppedWave, WaveRecord, WaveTotal
from tidings.waves.strategy import Strategy
from tidings.waves.time_limit import longest
from tidings.waves.wave import PrecomputedDeltas, SharedStates, Wave

RECORDS = 1000
"""So many waves are remembered."""


@dataclass(slots=True)
class Executor:
    """Runs planned waves."""

    relations: Relations
    engines: Engines
    experience: Experience
    """Learns what waves take."""
    records: deque[WaveRecord] = field(init=False, default_factory=lambda: deque(maxlen=RECORDS))
    totals: dict[tuple[str, str], WaveTotal] = field(init=False, default_factory=dict)
    """What all waves took, by strategy and execution."""
    _watchdog: Watchdog = field(init=False, default_factory=Watchdog)

    @property
    def runner(self) -> Runner:
        """Runs programs on the database's engine."""
        return self.engines.runner

    def sources(
        self,
        since: int,
        until: int,
        precomputed: PrecomputedDeltas | None = None,
        states: SharedStates | None = None,
    ) -> Sources:
        """Where the engine finds the rows of a batch."""
        deltas, in_common = precomputed or {}, states or {}

        @cache
        def source(relation: str, version: Version) -> Source:
            if version is Version.DELTA and relation in deltas:
                return deltas[relation]
            if relation in in_common:
                return in_common[relation].source(version, since, until)
            return self.relations.rows(relation).source(version, since, until)

        return source

    def choice(self, wave: Wave) -> EngineChoice:
        """Where a wave is to run, and why there."""
        recompute = wave.choice.strategy is Strategy.RECOMPUTE
        return self.engines.choice(wave.program, wave.changes, recompute=recompute)

    def run(self, wave: Wave, outputs: frozenset[str] = frozenset()) -> dict[str, pa.Table]:
        """The deltas of a wave's view and of some of its lower steps; what it took is recorded.

        A wave that turns out far more expensive than its estimate is stopped and run the other way, once.
        """
        checkpoint()
        estimate, other = wave.choice.estimate, wave.choice.other_estimate
        if estimate is None:
            sources = self.sources(wave.since, wave.until, wave.precomputed)
            return wave.by_query(self.runner.deltas(wave.program, sources, wave.since, wave.until))
        if wave.other is None or other is None:
            return self._run(wave, outputs)
        begun = perf_counter()
        seconds = longest(estimate.seconds, other.seconds)
        with self.engines.stoppable() as stops, self._watchdog.limited(seconds, stops) as limit:
            try:
                return self._run(wave, outputs, limit)
            except EngineFailed:
                if not limit.is_exceeded:
                    raise
        stopped = StoppedWave(wave.choice.strategy.value, estimate.execution, perf_counter() - begun)
        self._learn(wave, estimate.execution, stopped.seconds)
        return self._run(wave.other(), outputs, stopped=stopped)

    def _run(
        self,
        wave: Wave,
        outputs: frozenset[str],
        limit: TimeLimit | None = None,
        stopped: StoppedWave | None = None,
    ) -> dict[str, pa.Table]:
        run = ProgramRun(
            wave.program,
            partial(self.sources, precomputed=wave.precomputed, states=wave.states),
            wave.since,
            wave.until,
            wave.changes,
            wave.ends if wave.choice.strategy is Strategy.RECOMPUTE else (),
            outputs,
            (lambda: False) if limit is None else (lambda: limit.is_exceeded),
        )
        begun = perf_counter()
        with self.runner.backend.counted() as jobs:
            result = self.engines.run(run)
        taken = perf_counter() - begun
        self._learn(wave, result.choice.execution, taken)
        seconds, stage = {"plan": wave.seconds}, "run"
        if result.lookup_seconds is not None:
            seconds["look up"], stage = result.lookup_seconds, "finish"
        seconds[stage] = taken - (result.lookup_seconds or 0.0)
        rows_read = wave.choice.rows if result.rows_read is None else result.rows_read
        deltas = wave.by_query(result.deltas)
        self._record(wave, result.choice, rows_read, deltas, jobs.number, seconds, stopped=stopped)
        return deltas

    def _learn(self, wave: Wave, execution: str, seconds: float) -> None:
        """Take in what a wave took that ran where it was estimated."""
        choice, recompute = wave.choice, wave.choice.strategy is Strategy.RECOMPUTE
        if choice.estimate is not None and choice.estimate.execution == execution:
            way = Way(recompute, execution)
            self.experience.learn(wave.program.view, way, estimated=choice.estimate.seconds, actual=seconds)

    def run_all(self, waves: list[tuple[Wave, frozenset[str]]]) -> list[dict[str, pa.Table]]:
        """The deltas of several waves over one batch; those of the engine that are small run in common jobs."""
        deltas: dict[int, dict[str, pa.Table]] = {}
        for part in common_jobs([(wave.program, self._may_share_job(wave)) for wave, _ in waves]):
            deltas |= zip(part, self._run_in_one_job([waves[n] for n in part]), strict=True)
        for n, (wave, outputs) in enumerate(waves):
            if n not in deltas:
                deltas[n] = self.run(wave, outputs)
        return [deltas[n] for n in range(len(waves))]

    def _may_share_job(self, wave: Wave) -> bool:
        """Whether a wave may run in one job with others."""
        incremental = wave.choice.strategy in (Strategy.DIFFERENTIAL, Strategy.MERGE)
        return incremental and wave.changes <= LIST_LIMIT and self.choice(wave).execution != IN_PROCESS

    def _run_in_one_job(self, waves: list[tuple[Wave, frozenset[str]]]) -> list[dict[str, pa.Table]]:
        first = waves[0][0]
        precomputed = {name: delta for wave, _ in waves for name, delta in wave.precomputed.items()}
        sources = self.sources(first.since, first.until, precomputed)
        begun = perf_counter()
        with self.runner.backend.counted() as jobs:
            programs = [(wave.program, outputs) for wave, outputs in waves]
            together = self.runner.together(programs, sources, first.since, first.until)
        number = sum(len(wave.queries) for wave, _ in waves)
        each = (perf_counter() - begun) / number
        results = [wave.by_query(deltas) for (wave, _), deltas in zip(waves, together, strict=True)]
        for (wave, _), deltas in zip(waves, results, strict=True):
            seconds = {"plan": wave.seconds, "run": each * len(wave.queries)}
            self._record(wave, self.choice(wave), wave.choice.rows, deltas, jobs.number, seconds, together=number)
        return results

    def keep(self, record: WaveRecord) -> None:
        """Remember what a wave did, count it, and tell of it."""
        self.records.append(record)
        key = record.strategy, record.execution
        total = self.totals.get(key) or self.totals.setdefault(key, WaveTotal())
        total.waves += 1
        total.seconds += sum(record.seconds.values())
        total.changes += record.changes
        total.rows_read += record.rows_read
        level = DEBUG if record.in_transaction else INFO
        if WAVE.isEnabledFor(level):
            tell(WAVE, level, "%(view)s: %(strategy)s, %(execution)s, %(rows)d changed rows", "wave", **record.facts())

    def _record(
        self,
        wave: Wave,
        engine: EngineChoice,
        rows_read: int,
        deltas: Mapping[str, pa.Table],
        jobs: int | None,
        seconds: Mapping[str, float],
        together: int | None = None,
        stopped: StoppedWave | None = None,
    ) -> None:
        shares = {stage: taken / len(wave.queries) for stage, taken in seconds.items()}
        for query in wave.queries:
            self.keep(
                WaveRecord(
                    view=query,
                    since=wave.since,
                    until=wave.until,
                    strategy=wave.choice.strategy.value,
                    reason=wave.choice.reason,
                    execution=engine.execution,
                    why=engine.why,
                    changes=wave.changes,
                    rows_read=rows_read,
                    rows=deltas[query].num_rows,
                    jobs=jobs,
                    seconds=shares,
                    together=together or len(wave.queries),
                    differential=wave.choice.differential,
                    recompute=wave.choice.recompute,
                    stopped=stopped,
                )
            )

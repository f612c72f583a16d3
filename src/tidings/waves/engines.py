"""In process, else on the engine: where a program runs is decided and done here, and nowhere else.

A program runs in this process if nothing speaks against it (:meth:`Engines.obstacle`).  If that fails, because a lookup
would read too much or the second engine cannot do it, the database's engine runs the program instead, or says why it
cannot either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from tidings.delta.plan import Program
from tidings.engine.recursion.fixpoint import has_fixpoint
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.engine.stepping_out import SteppingOut
from tidings.errors import EngineFailed
from tidings.ir.relation import Relation, Version
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.net_states import has_gone_rows, net_states
from tidings.waves.on_engine.runner import EngineRunner
from tidings.waves.recomputed_states import RecomputedStates
from tidings.waves.step_inputs import LookupTooLarge

IN_PROCESS = "in-process"

PROGRAMS_PER_JOB = 40
"""Up to this many small programs run in one job."""


class EngineChoice(NamedTuple):
    """Where a program runs, and why there."""

    execution: str
    why: str


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program to be run over the batch ``(since, until]``."""

    program: Program
    sources: Callable[[int, int], Sources]
    """Where its rows are, for a batch."""
    since: int
    until: int
    changes: int = 0
    """Changed rows of what it reads."""
    recompute_at: tuple[int, ...] = ()
    """The instants at which a recompute is done, one after the other; none for a differential."""
    outputs: frozenset[str] = frozenset()
    """Lower steps whose deltas are asked for too."""
    is_stopped: Callable[[], bool] = lambda: False
    """Whether it has been stopped, for having taken too long."""

    def recomputed(self, run: Callable[[Program, Sources, int, int], pa.Table]) -> dict[str, pa.Table]:
        """The deltas of a recompute, from one instant to the next, and at each from step to step."""
        states = RecomputedStates()
        starts = (self.since, *self.recompute_at[:-1])
        for since, until in zip(starts, self.recompute_at, strict=True):
            for step in self.program.steps:
                alone = replace(self.program, view=step.name, columns=step.columns, steps=(step,))
                sources = self.sources(since, until)
                if self.program.compares_stored:
                    sources = states.over(sources)
                states.add(step.name, run(alone, sources, since, until))
        return states.results()


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The deltas of a program, where it ran, and what that took."""

    deltas: dict[str, pa.Table]
    choice: EngineChoice
    rows_read: int | None = None
    """Rows that were looked up in this process; None if they were not counted."""
    lookup_seconds: float | None = None
    """How long the lookups took; None if there were none."""

    @property
    def in_process(self) -> bool:
        return self.choice.execution == IN_PROCESS


@dataclass(slots=True)
class Engines:
    """The database's engine, and the second one in this process if the database uses it."""

    on_engine: EngineRunner
    in_process: InProcessRunner | None = None

    @property
    def runner(self) -> Runner:
        """Runs programs on the database's engine, over states as they are."""
        return self.on_engine.runner

    @property
    def shares_jobs(self) -> bool:
        """Whether all programs run on an engine on which a common job is worth it."""
        return self.in_process is None and self.runner.backend.looks_up_first

    def obstacle(self, program: Program, changes: int, *, recompute: bool = False) -> str | None:
        """What speaks against running a program in this process; None if nothing does."""
        if self.in_process is None:
            return f"execution is {self.runner.backend.name}"
        return self.in_process.recompute_obstacle(program) if recompute else self.in_process.obstacle(program, changes)

    def query(self, plan: Relation, sources: Sources, at: int, step_out: SteppingOut | None = None) -> pa.Table:
        """The rows of a plan at an instant, in this process where that is possible.

        What fails here is asked of the database's engine, which may succeed or says why it does not.  With ``step_out``
        other threads may be let in while it is computed.
        """
        if self.in_process is not None and self.runner.backend.looks_up_first:
            try:
                rows = self.in_process.query(plan, sources, at, step_out)
            except EngineFailed:
                rows = None
            if rows is not None:
                return rows
        return self.runner.query(plan, sources, at, step_out)

    def choice(self, program: Program, changes: int, *, recompute: bool = False) -> EngineChoice:
        """Where a program is to run, and why there."""
        obstacle = self.obstacle(program, changes, recompute=recompute)
        if obstacle is None:
            return EngineChoice(IN_PROCESS, "small, and the engines agree on it")
        return EngineChoice(self.runner.backend.name, obstacle)

    def run(self, run: ProgramRun) -> ProgramResult:
        """Run a program; one that fails is run again without the rows that came and went again, which may be why."""
        try:
            return self._run(run)
        except EngineFailed as failure:
            sources = run.sources(run.since, run.until)
            if run.is_stopped() or run.recompute_at or not has_gone_rows(run.program, sources):
                raise
            try:
                return self._run(replace(run, sources=lambda _since, _until: net_states(sources)))
            except EngineFailed:
                raise failure from None

    def run_all(self, runs: Sequence[ProgramRun]) -> list[ProgramResult]:
        """Run differentials over one batch; on the database's engine small ones run in common jobs."""
        results: dict[int, ProgramResult] = {}
        for part in common_jobs([(run.program, self._may_share_job(run)) for run in runs]):
            results |= zip(part, self._run_together([runs[n] for n in part]), strict=True)
        return [results[n] if n in results else self.run(run) for n, run in enumerate(runs)]

    def _may_share_job(self, run: ProgramRun) -> bool:
        alone = run.recompute_at or any(has_fixpoint(step.plan) for step in run.program.steps)
        may = self.shares_jobs and bool(run.program.steps) and not alone
        return may and self.on_engine.obstacle(run.changes) is None

    def _run_together(self, runs: list[ProgramRun]) -> list[ProgramResult]:
        """Run programs over one batch in common jobs; if that fails, each by itself, to know which one does."""
        since, until = runs[0].since, runs[0].until
        each = [run.sources(since, until) for run in runs]
        reader = {scan.relation: n for n, run in enumerate(runs) for s in run.program.steps for scan in s.scans}

        def sources(relation: str, version: Version) -> Source:
            return each[reader[relation]](relation, version)

        try:
            deltas = self.on_engine.run_all([run.program for run in runs], sources, since, until)
        except EngineFailed:
            return [self.run(run) for run in runs]
        return [
            ProgramResult({run.program.view: delta}, self.choice(run.program, run.changes))
            for run, delta in zip(runs, deltas, strict=True)
        ]

    def _run(self, run: ProgramRun) -> ProgramResult:
        """Run a program in this process where that is possible, else on the database's engine."""
        choice = self.choice(run.program, run.changes, recompute=bool(run.recompute_at))
        if self.in_process is not None and choice.execution == IN_PROCESS and run.program.steps:
            try:
                return _in_process(self.in_process, run, choice)
            except (LookupTooLarge, EngineFailed) as failure:
                if run.is_stopped() and isinstance(failure, EngineFailed):
                    raise
                choice = EngineChoice(self.runner.backend.name, str(failure).splitlines()[0])
        if run.recompute_at:
            return ProgramResult(run.recomputed(self.on_engine.recompute), choice)
        batch = run.program, run.sources(run.since, run.until), run.since, run.until, run.outputs
        if self.on_engine.obstacle(run.changes) is not None:
            return ProgramResult(self.runner.deltas(*batch), choice)
        result = self.on_engine.run(*batch)
        return ProgramResult(result.deltas, choice, result.rows, result.seconds)

    @contextmanager
    def stoppable(self) -> Iterator[list[Callable[[], object]]]:
        """Functions that make what runs inside fail, on each engine."""
        backends = [self.runner.backend] + ([] if self.in_process is None else [self.in_process.second])
        with ExitStack() as stack:
            yield [stack.enter_context(backend.stoppable()) for backend in backends]

    def close(self) -> None:
        """Close the second engine."""
        if self.in_process is not None:
            self.in_process.close()


def common_jobs(programs: Sequence[tuple[Program, bool]]) -> list[list[int]]:
    """Which programs run in one job, as places among those given; each is said to be fit for that, or not."""
    common, names = list[int](), set[str]()
    for place, (program, is_fit) in enumerate(programs):
        steps = {step.name for step in program.steps}
        if is_fit and not steps & names:
            common.append(place)
            names |= steps
    jobs = [common[at : at + PROGRAMS_PER_JOB] for at in range(0, len(common), PROGRAMS_PER_JOB)]
    return [job for job in jobs if len(job) > 1]


def _in_process(in_process: InProcessRunner, run: ProgramRun, choice: EngineChoice) -> ProgramResult:
    if run.recompute_at:
        return ProgramResult(run.recomputed(in_process.recompute), choice, lookup_seconds=0.0)
    result = in_process.run(run.program, run.sources(run.since, run.until), run.since, run.until, run.outputs)
    return ProgramResult(result.deltas, choice, result.rows, result.seconds)

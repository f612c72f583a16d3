"""Running delta programs and queries, the same way on every engine.

For each step: make what it reads readable, fill in the keys, take the rows.  The text of a step is printed once and
kept, like a prepared statement; what changes from wave to wave are the sources and the keys.  A step whose deltas are
all empty is not run: a wave stops where there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK
from tidings.compiled import CompiledPlans, Identity
from tidings.delta.key_columns import LISTABLE
from tidings.delta.plan import Program, Step
from tidings.engine.agreed.plan import in_words
from tidings.engine.arrow import arrow_schema, conform
from tidings.engine.backend import Backend
from tidings.engine.changes import no_changes
from tidings.engine.location import Location
from tidings.engine.recursion.evaluations import Evaluations
from tidings.engine.recursion.fixpoint import MAX_ROUNDS, EvaluationWay, PlanOverFixpoints, has_fixpoint, over_fixpoints
from tidings.engine.recursion.growing_folders import GrowingFolders
from tidings.engine.source import Rows, Source, Sources
from tidings.engine.sql.combined import combined, separated
from tidings.engine.sql.literals import among, literals, within
from tidings.engine.sql.lower import lower, source_name
from tidings.engine.sql.statement import KeyList, KeyTest, PreparedStatement
from tidings.engine.stepping_out import SteppingOut
from tidings.ir.expression import TIME, WEIGHT, read, show_name
from tidings.ir.relation import VERSION_COLUMNS, Column, Filter, Relation, Scan, Version
from tidings.ir.traverse import walk

Needed: TypeAlias = Mapping[str, Set[str]]
"""The names of the columns that are read of each delta."""

LIST_LIMIT = 400
"""The keys of deltas of up to this many rows go into the text as literals; of more they are a semi-join."""

NARROW = 10_000
"""Of a delta of more rows than this only the columns that are read are given to the engine."""

KEEP_LIMIT = 100_000
"""A lower step over more changed rows than this is kept in files instead of memory."""


@dataclass(slots=True)
class Runner:
    """Runs programs and queries on a backend."""

    backend: Backend
    compiled: CompiledPlans = field(default_factory=CompiledPlans)
    """Owns the texts of steps."""
    is_said: bool = False
    """Whether the plans it is given are in the words of the engine already."""
    max_rounds: int = MAX_ROUNDS
    """A recursion that is not finished after so many rounds is refused."""
    rules_in_memory: bool = True
    """Whether small recursions are evaluated in this process."""
    evaluations: dict[str, Evaluations] = field(init=False)
    """What was derived of each recursion for plans that read it, by its group."""
    _statements: dict[tuple[Identity[Step], frozenset[str], frozenset[str]], PreparedStatement] = field(init=False)
    _steps: dict[Identity[Relation], Step] = field(init=False)
    """Plans of rows, as steps."""
    _columns: dict[Identity[Step], Needed] = field(init=False)
    """The columns that a step reads of each delta."""
    _fixpoints: dict[Identity[Relation], tuple[PlanOverFixpoints, Step] | None] = field(init=False)
    """Plans over recursions, with those taken out; None for plans without."""

    def __post_init__(self) -> None:
        section = self.compiled.section
        self.evaluations = section()
        self._statements, self._steps, self._columns, self._fixpoints = section(), section(), section(), section()

    def run(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta a program computes for a batch: columns, ``__t`` and ``__w``, consolidated."""
        return self.deltas(program, sources, since, until)[program.view]

    def deltas(
        self, program: Program, sources: Sources, since: int, until: int, asked_for: frozenset[str] = frozenset()
    ) -> dict[str, pa.Table]:
        """The deltas of a program's view and of those of its lower steps that are asked for."""
        if not program.steps:
            return {program.view: no_changes(program.columns)}
        results: dict[str, pa.Table] = {}
        computed: dict[str, Source] = {}
        registered: dict[tuple[str, Version], Source] = {}
        batch, needed = (_instant(since), _instant(until)), self._needed(program.steps)
        with ExitStack() as scratch:
            for step in program.steps[:-1]:
                if self.is_still(program, step, sources, computed):
                    computed[step.name] = _nothing(step)
                    if step.name in asked_for:
                        results[step.name] = no_changes(step.columns)
                    continue
                text, deltas, small = self._prepare(step, sources, computed, registered, batch, needed)
                files = self.backend.scratch
                if step.name in asked_for or files is None or sum(map(_size, deltas.values())) <= KEEP_LIMIT:
                    rows: Rows = conform(self.backend.fetch(text, step.columns, small=small), _schema(step))
                    if step.name in asked_for:
                        results[step.name] = rows
                else:
                    rows = scratch.enter_context(files.location())
                    self.backend.write(text, rows)
                computed[step.name] = Source(step.columns, None, rows)
            last = program.steps[-1]
            if self.is_still(program, last, sources, computed):
                return results | {program.view: no_changes(last.columns)}
            text, _, small = self._prepare(last, sources, computed, registered, batch, needed)
            results[program.view] = conform(self.backend.fetch(text, last.columns, small=small), _schema(last))
        return results

    def together(
        self, programs: list[tuple[Program, frozenset[str]]], sources: Sources, since: int, until: int
    ) -> list[dict[str, pa.Table]]:
        """The deltas of several programs over one batch, each with the lower steps that are asked for.

        The first steps of all run as one query, then the second ones, and so on.
        """
        computed: list[dict[str, Source]] = [{} for _ in programs]
        results: list[dict[str, pa.Table]] = [{} for _ in programs]
        for round in range(max(len(program.steps) for program, _ in programs)):
            each = [(n, program.steps[round]) for n, (program, _) in enumerate(programs) if round < len(program.steps)]
            run = [(n, s) for n, s in each if not self.is_still(programs[n][0], s, sources, computed[n])]
            deltas = {(n, s.name): no_changes(s.columns) for n, s in each}
            parts = self.steps([(s, _over(computed[n], sources)) for n, s in run], since, until)
            deltas |= {(n, s.name): part for (n, s), part in zip(run, parts, strict=True)}
            for n, step in each:
                delta = deltas[n, step.name]
                computed[n][step.name] = Source(step.columns, None, delta)
                if step.name in programs[n][1] or step.name == programs[n][0].view:
                    results[n][step.name] = delta
        return results

    def steps(self, steps: Sequence[tuple[Step, Sources]], since: int, until: int) -> list[pa.Table]:
        """The deltas of several steps over one batch, as one small query.

        What they read under one name is the same.
        """
        if not steps:
            return []
        batch, needed = (_instant(since), _instant(until)), self._needed([step for step, _ in steps])
        registered: dict[tuple[str, Version], Source] = {}
        texts = [self._prepare(step, sources, {}, registered, batch, needed)[0] for step, sources in steps]
        columns = [step.columns + VERSION_COLUMNS for step, _ in steps]
        rows = self.backend.fetch(combined(texts, columns, self.backend.dialect.name), small=True)
        return separated(rows, columns, [_schema(step) for step, _ in steps])

    def step(self, step: Step, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of one step, over states as they are."""
        return self.run(Program(step.name, frozenset(), step.columns, (step,)), sources, since, until)

    def finish(self, step: Step, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of one step that reads nothing but rows in memory, as small work."""
        batch = _instant(since), _instant(until)
        text, _, _ = self._prepare(step, sources, {}, {}, batch, self._needed([step]))
        return conform(self.backend.fetch(text, step.columns, small=True), _schema(step))

    def is_small(self, step: Step, sources: Sources) -> bool:
        """Whether a step is small work over states as they are: all it reads of them is by a list of keys."""
        deltas = self._needed_by(step)
        few = frozenset(r for r in deltas if _size(sources(r, Version.DELTA).changes) <= LIST_LIMIT)
        return few == frozenset(deltas) and self.statement(step, few).small

    def is_still(self, program: Program, step: Step, sources: Sources, computed: Mapping[str, Source]) -> bool:
        """Whether the delta of a step is empty: no relation it reads has changed, and it does not read the clock."""
        deltas = self._needed_by(step)
        if not program.changed or CLOCK in program.changed or not deltas:
            return False
        return not any(_size((computed.get(r) or sources(r, Version.DELTA)).changes) for r in deltas)

    def _prepare(
        self,
        step: Step,
        sources: Sources,
        computed: dict[str, Source],
        registered: dict[tuple[str, Version], Source],
        batch: tuple[str, str],
        needed: Needed,
    ) -> tuple[str, dict[str, Rows], bool]:
        """Make a step's inputs readable, unless they are; its text, its deltas and whether it is small work."""
        step, sources = self._after_fixpoints(step, sources, computed, batch)
        deltas: dict[str, Rows] = {}
        for scan in step.scans:
            if scan.version is Version.DELTA:
                known = registered.get((scan.relation, scan.version)) or computed.get(scan.relation)
                deltas[scan.relation] = (known or sources(scan.relation, scan.version)).changes
        few = frozenset(r for r, rows in deltas.items() if _size(rows) <= LIST_LIMIT)
        some = frozenset(r for r, rows in deltas.items() if _size(rows) <= KEEP_LIMIT)
        statement = self.statement(step, few, some - few)
        for scan in step.scans:
            version, name = (scan.relation, scan.version), source_name(scan.relation, scan.version)
            if version in registered or name not in statement.text:
                continue  # of a delta whose keys are listed nothing else may be read
            source = computed.get(scan.relation) if scan.version is Version.DELTA else None
            source = source or sources(*version)
            registered[version] = _narrow(source, needed[scan.relation]) if scan.version is Version.DELTA else source
            make = self.backend.plain if scan.version is Version.CURRENT else self.backend.versioned
            make(name, registered[version])
        dialect = self.backend.dialect

        def test(keys: KeyList, place: KeyTest) -> str:
            values = pc.unique(pa.chunked_array([_column(deltas[relation], name) for relation, name in keys.columns]))
            if place.ranges:
                return within(place.tested, values, keys.type, dialect.name)
            return among(place.tested, values, keys.type, dialect.name, halves=dialect.halves)

        return statement.filled(test, *batch), deltas, statement.small

    def _needed(self, steps: Iterable[Step]) -> Needed:
        """Which columns of each delta some steps read; found out once for each."""
        needed: dict[str, set[str]] = {}
        for step in steps:
            for relation, names in self._needed_by(step).items():
                needed.setdefault(relation, set()).update(names)
        return needed

    def _needed_by(self, step: Step) -> Needed:
        """The same of one step."""
        key = Identity(step)
        if key not in self._columns:
            self._columns[key] = _needed(step)
        return self._columns[key]

    def rows(self, plan: Relation, sources: Sources, since: int, until: int, *, in_memory: bool = False) -> pa.Table:
        """The rows of any plan over versions of relations, as they are; is all it reads in memory?"""
        return self._fetched(self._step_of(plan), sources, (_instant(since), _instant(until)), in_memory=in_memory)

    def _step_of(self, plan: Relation) -> Step:
        """A plan of rows as a step, made once."""
        key = Identity(plan)
        if key not in self._steps:
            columns = tuple(Column(f.name, f.type) for f in plan.fields)
            self._steps[key] = Step("rows", 0, columns, (), plan)
        return self._steps[key]

    def _fetched(self, step: Step, sources: Sources, batch: tuple[str, str], *, in_memory: bool = False) -> pa.Table:
        text, _, small = self._prepare(step, sources, {}, {}, batch, self._needed([step]))
        rows = self.backend.fetch(text, step.columns, small=small or in_memory)
        return conform(rows, arrow_schema(step.columns))

    def _after_fixpoints(
        self, step: Step, sources: Sources, computed: Mapping[str, Source], batch: tuple[str, str]
    ) -> tuple[Step, Sources]:
        """A step without recursions, and where it finds the rows of these, which are evaluated."""
        key = Identity(step.plan)
        if key not in self._fixpoints:
            over = over_fixpoints(step.plan, step.name) if has_fixpoint(step.plan) else None
            self._fixpoints[key] = None if over is None else (over, replace(step, plan=over.plan))
        prepared = self._fixpoints[key]
        if prepared is None:
            return step, sources
        over, rest = prepared

        def run(plan: Relation, inner: Sources) -> pa.Table:
            return self._fetched(self._step_of(plan), inner, batch)

        with self.folders() as folders:
            way = EvaluationWay(self.max_rounds, self.rules_in_memory, self.backend.looks_up_first, folders)
            return rest, over.sources(run, _over(computed, sources), way, self._count_evaluation)

    def folders(self) -> AbstractContextManager[GrowingFolders | None]:
        """Where the rows of recursions are while they are evaluated, if the engine reads large rows from files."""
        files = self.backend.scratch if self.backend.looks_up_first else None
        return nullcontext() if files is None else GrowingFolders(files, KEEP_LIMIT)

    def _count_evaluation(self, group: str, rows: int, whole: bool) -> None:
        before = self.evaluations.get(group, Evaluations())
        self.evaluations[group] = before.and_all(rows) if whole else before.and_some(rows)

    def statement(self, step: Step, listed: frozenset[str], ranged: frozenset[str] = frozenset()) -> PreparedStatement:
        """The SQL of a step, printed once per choice of listed keys."""
        key = Identity(step), listed, ranged
        if key not in self._statements:
            self._statements[key] = lower(self._said(step.plan), self.backend.dialect, listed, ranged)
        return self._statements[key]

    def _said(self, plan: Relation) -> Relation:
        return plan if self.is_said else in_words(plan, self.backend.dialect)

    def query(self, plan: Relation, sources: Sources, at: int = 0, step_out: SteppingOut | None = None) -> pa.Table:
        """The rows of a plan over current relations, at an instant; others may be let in meanwhile by ``step_out``."""
        if has_fixpoint(plan):
            return self.rows(plan, sources, 0, at)
        for relation in {n.relation for n in walk(plan) if isinstance(n, Scan)}:
            self.backend.plain(source_name(relation, Version.CURRENT), sources(relation, Version.CURRENT))
        columns = tuple(Column(f.name, f.type) for f in plan.fields)
        text = lower(self._said(plan), self.backend.dialect).filled(lambda *_: "", until=_instant(at))
        fetched = self.backend.fetch_answer(text, columns, step_out) if step_out else self.backend.fetch(text, columns)
        return conform(fetched, arrow_schema(columns))

    def lookup(self, name: str, columns: tuple[Column, ...], source: Source, rows: pa.Table) -> pa.Table:
        """The base rows that may equal some of the given rows: those that agree on one column."""
        scan = Scan(name, "wanted", columns)
        key = next((c for c in columns if c.type in LISTABLE), None)
        plan: Relation = scan
        if key is not None:
            name = show_name(key.name)
            listed = literals(pc.unique(rows.column(key.name)), key.type, "spark")
            plan = Filter(scan, (read(f"wanted.{name} IN ({listed}) OR wanted.{name} IS NULL"),))
        return self.query(plan, lambda _relation, _version: source)


def _needed(step: Step) -> Needed:
    """Which columns of each delta a step reads."""
    needed: dict[str, set[str]] = {}
    for node in walk(step.plan):
        if isinstance(node, Scan) and node.version is Version.DELTA:
            needed.setdefault(node.relation, set()).update(c.name for c in node.columns)
    return needed


def _narrow(source: Source, needed: Set[str]) -> Source:
    """A large delta without the columns that nobody reads."""
    rows = source.changes
    if isinstance(rows, Location) or rows.num_rows <= NARROW:
        return source
    columns = tuple(c for c in source.columns if c.name in needed)
    return Source(columns, None, rows.select([*(c.name for c in columns), TIME, WEIGHT]))


def _instant(micros: int) -> str:
    return f"CAST({micros} AS BIGINT)"


def _schema(step: Step) -> pa.Schema:
    return arrow_schema(step.columns, versioned=True)


def _over(computed: Mapping[str, Source], sources: Sources) -> Sources:
    """Sources that have the deltas of lower steps too."""

    def source(relation: str, version: Version) -> Source:
        return computed[relation] if version is Version.DELTA and relation in computed else sources(relation, version)

    return source


def _nothing(step: Step) -> Source:
    return Source(step.columns, None, no_changes(step.columns))


def _column(rows: Rows, name: str) -> pa.Array:
    assert isinstance(rows, pa.Table), "only deltas in memory are listed"
    return rows.column(name).combine_chunks()


def _size(rows: Rows) -> int:
    """The number of rows in memory; rows in files are many."""
    return rows.num_rows if isinstance(rows, pa.Table) else KEEP_LIMIT + 1

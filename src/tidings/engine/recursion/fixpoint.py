"""Runs rule programs in rounds: each round is a few ordinary statements, whose plans do not grow with its number.

What is new in a round is fetched and handed to the next one as rows in memory, so a plan never contains the one before
it.  Where an engine reads large rows from files, those of a large predicate are in a folder that grows by a file per
round, so that none is handed over twice.  After :data:`MAX_ROUNDS` rounds without an end the recursion is refused: it
derives new values without bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa
from sqlglot import exp

from tidings.delta.recursion.rounds import PREFIX, RuleProgram, Stratum
from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, no_changes
from tidings.engine.progress import rounds
from tidings.engine.recursion.demanded import DemandedRows, Question, RunPlan, question
from tidings.engine.recursion.growing_folders import GrowingFolders
from tidings.engine.recursion.indexed_rows import FetchedRows, rows_of, table_of
from tidings.engine.recursion.rule_values import NotInMemory, is_supported
from tidings.engine.recursion.rules_in_memory import InMemoryRun
from tidings.engine.source import Source, Sources
from tidings.errors import FixpointTooLong
from tidings.ir.relation import Aggregate, Column, Fixpoint, Item, Relation, Restrict, Scan, Version
from tidings.ir.traverse import children, walk, with_children
from tidings.running_statements import checkpoint

MAX_ROUNDS = 10_000
"""A recursion that is not finished after so many rounds is refused; ``tidings.open(rounds=…)`` says another number."""

SMALL = 20_000
"""Relations of up to so many rows are read whole into memory."""

CountRows: TypeAlias = Callable[[str, int, bool], None]
"""Is told of a recursion, by its group, how many rows were derived, and whether these are all it has."""


@dataclass(slots=True)
class Predicates:
    """The rows of predicates while a program runs; each set of rows is one source, so that engines copy it once."""

    columns: Mapping[str, tuple[Column, ...]]
    rows: dict[str, pa.Table] = field(default_factory=dict)
    new: dict[str, pa.Table] = field(default_factory=dict)
    folders: GrowingFolders | None = None
    """Where the engine reads the rows of large predicates, if it reads them from files."""
    _sources: dict[tuple[str, Version], tuple[pa.Table, Source]] = field(default_factory=dict)

    def of(self, predicate: str) -> pa.Table:
        """All rows of a predicate."""
        return self.rows.get(predicate, self._empty(predicate))

    def _empty(self, predicate: str) -> pa.Table:
        if predicate not in self.rows:
            self.rows[predicate] = arrow_schema(self.columns[predicate]).empty_table()
        return self.rows[predicate]

    def source(self, predicate: str, version: Version) -> Source:
        """The source of all rows of a predicate, or of the new ones."""
        rows = (
            self.new.get(predicate, self.of(predicate).slice(0, 0)) if version is Version.DELTA else self.of(predicate)
        )
        known = self._sources.get((predicate, version))
        if known is None or known[0] is not rows:
            known = rows, self._made(predicate, version, rows)
            self._sources[predicate, version] = known
        return known[1]

    def _made(self, predicate: str, version: Version, rows: pa.Table) -> Source:
        columns = self.columns[predicate]
        if not rows.num_rows:
            return _nothing(columns)
        if self.folders is not None and version is not Version.DELTA and rows.num_rows > self.folders.least:
            return Source(columns, None, self.folders.holding(predicate, columns, rows))
        return Source(columns, None, as_changes(columns, rows))

    def leave_files(self) -> None:
        """Let sources be rows in memory from now on; the folders will be removed."""
        self.folders = None
        self._sources.clear()

    def over(self, sources: Sources) -> Sources:
        """Where the plans of a program find rows: those of predicates here, others elsewhere."""

        def source(relation: str, version: Version) -> Source:
            if relation.startswith(PREFIX):
                return self.source(relation.removeprefix(PREFIX), version)
            return sources(relation, version)

        return source


@lru_cache(maxsize=4096)
def _nothing(columns: tuple[Column, ...]) -> Source:
    """The source of no rows: always the same one, so that engines need not be told again."""
    return Source(columns, None, no_changes(columns))


@dataclass(slots=True)
class RuleProgramRun:
    """Runs the strata of one program over one set of predicates."""

    run: RunPlan
    sources: Sources
    predicates: Predicates
    limit: int = MAX_ROUNDS
    statements: int = 0
    """How many statements have run."""
    rounds: int = 0

    def evaluate(self, program: RuleProgram) -> None:
        """Add what follows from the rows there are, stratum by stratum."""
        for stratum in program.strata:
            self._stratum(program, stratum)

    def _stratum(self, program: RuleProgram, stratum: Stratum) -> None:
        new = {head: self._first(stratum, head) for head in stratum.heads}
        self._take(stratum, new)
        number = 1
        with rounds(f"deriving {', '.join(stratum.heads)}") as done:
            while stratum.again and any(rows.num_rows for rows in new.values()):
                done(sum(rows.num_rows for rows in new.values()))
                number += 1
                if number > self.limit:
                    raise FixpointTooLong(predicate=stratum.heads[0], rounds=self.limit)
                moved = {head for head, rows in new.items() if rows.num_rows}
                new = {
                    head: self._rows(plan) if stratum.reads[head] & moved else self.predicates.of(head).slice(0, 0)
                    for head, plan in stratum.again.items()
                }
                self._take(stratum, new)
        self.rounds += number

    def _first(self, stratum: Stratum, head: str) -> pa.Table:
        """What the rules of a predicate give as they stand; nothing is run where all of them join nothing."""
        if all(any(not self.predicates.of(name).num_rows for name in needed) for needed in stratum.needs[head]):
            return self.predicates.of(head).slice(0, 0)
        return self._rows(stratum.first[head])

    def _take(self, stratum: Stratum, new: Mapping[str, pa.Table]) -> None:
        """Let the rows of a round be the new ones, and add them to all."""
        self.predicates.new = {head: new.get(head, self.predicates.of(head).slice(0, 0)) for head in stratum.heads}
        for head, rows in new.items():
            if rows.num_rows and head in stratum.improve:
                self.predicates.rows[head] = self._rows(stratum.improve[head])
                if self.predicates.folders is not None:
                    self.predicates.folders.forget(head)
            elif rows.num_rows:
                self.predicates.rows[head] = pa.concat_tables([self.predicates.of(head), rows])

    def _rows(self, plan: Relation) -> pa.Table:
        checkpoint()
        self.statements += 1
        return self.run(plan, self.predicates.over(self.sources))


def fixpoint_program(node: Fixpoint) -> RuleProgram:
    """The rules of a fixpoint, over its inputs in their place."""
    columns = {m.name: m.columns for m in node.members}
    inputs = dict(zip(node.names, node.inputs, strict=True))
    columns |= {name: tuple(Column(f.name, f.type) for f in plan.fields) for name, plan in inputs.items()}
    extremes = {m.name: m.extreme for m in node.members if m.extreme is not None}
    return RuleProgram(node.rules, columns, given=inputs, extremes=extremes)


def has_fixpoint(plan: Relation) -> bool:
    return any(isinstance(node, Fixpoint) for node in walk(plan))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """A recursion to evaluate, and under which names its predicates are then read."""

    group: str
    program: RuleProgram
    demanded: DemandedRows | None
    """What derives the rows that are asked for, where not all are."""
    inputs: Mapping[str, Relation]
    """Predicates whose rows are computed first, since every round reads them."""
    outputs: Mapping[str, str]
    """The names of relations, by predicate."""


@dataclass(frozen=True, slots=True)
class EvaluationWay:
    """How recursions are evaluated."""

    limit: int
    """The most rounds."""
    in_memory: bool = False
    """Whether small ones are evaluated over rows in this process."""
    counts_bases: bool = False
    """Whether a round costs so much that it is worth counting the rows of bases, to know which ones are small."""
    folders: GrowingFolders | None = None


@dataclass(frozen=True, slots=True)
class PlanOverFixpoints:
    """A plan whose fixpoints are evaluated before it, and then read like tables."""

    plan: Relation
    evaluations: tuple[_Evaluation, ...]

    def sources(self, run: RunPlan, sources: Sources, way: EvaluationWay, count: CountRows) -> Sources:
        """Evaluate the fixpoints; where the plan finds its rows."""
        evaluated: dict[str, Source] = {}
        for evaluation in self.evaluations:
            asked = evaluation.demanded if way.in_memory else None
            rows = None if asked is None else asked.rows(run, sources, way.limit)
            if rows is not None:
                predicates = Predicates(evaluation.program.columns, rows)
                count(evaluation.group, sum(map(len, rows.values())), False)
                for predicate, name in evaluation.outputs.items():
                    evaluated[name] = predicates.source(predicate, Version.OLD)
                continue
            predicates = Predicates(evaluation.program.columns, folders=way.folders)
            predicates.rows |= {name: run(plan, sources) for name, plan in evaluation.inputs.items()}
            if not (way.in_memory and _evaluated_in_memory(evaluation.program, predicates, run, sources, way)):
                RuleProgramRun(run, sources, predicates, way.limit).evaluate(evaluation.program)
            predicates.leave_files()
            count(evaluation.group, sum(predicates.of(head).num_rows for head in evaluation.program.heads), True)
            for predicate, name in evaluation.outputs.items():
                evaluated[name] = predicates.source(predicate, Version.OLD)

        def source(relation: str, version: Version) -> Source:
            return evaluated[relation] if relation in evaluated else sources(relation, version)

        return source


def _evaluated_in_memory(
    program: RuleProgram, predicates: Predicates, run: RunPlan, sources: Sources, way: EvaluationWay
) -> bool:
    """Evaluate a small program over rows in memory; whether it was small, and one on whose values all agree."""
    if not is_supported(program) or not all(_is_small(plan, run, sources, way) for plan in program.given.values()):
        return False
    if any(rows.num_rows > SMALL for rows in predicates.rows.values()):
        return False
    computed = {name: rows_of(rows) for name, rows in predicates.rows.items()}
    computed |= {name: rows_of(run(plan, sources)) for name, plan in program.given.items()}
    rows = {name: FetchedRows(name, lambda name, _positions, _keys: computed[name], is_small=True) for name in computed}
    in_memory = InMemoryRun(rows, way.limit)
    try:
        in_memory.evaluate(program)
    except NotInMemory:
        return False
    predicates.rows |= {h: table_of(program.columns[h], in_memory.of(h).rows) for h in program.heads}
    return True


def _is_small(plan: Relation, run: RunPlan, sources: Sources, way: EvaluationWay) -> bool:
    """Whether a plan has few rows; those of a base are counted by the engine, where that is worth it."""
    given = [sources(scan.relation, scan.version) for scan in walk(plan) if isinstance(scan, Scan)]
    has_base = any(source.base is not None for source in given)
    if any(_size(source) > SMALL for source in given) or (has_base and not way.counts_bases):
        return False
    if not has_base:
        return True
    number = Item("n", "bigint", exp.Count(this=exp.Star(), big_int=True))
    return bool(run(Aggregate(plan, "rows", (), (number,)), sources).column("n")[0].as_py() <= SMALL)


def _size(source: Source) -> int:
    return source.changes.num_rows if isinstance(source.changes, pa.Table) else SMALL + 1


def over_fixpoints(plan: Relation, reader: str = "") -> PlanOverFixpoints:
    """A plan with its fixpoints taken out; those of one group over the same inputs are evaluated once.

    ``reader`` is a name for the plan: another one of the same program may ask for other rows of them.
    """
    groups: dict[tuple[str, tuple[Relation, ...]], _Group] = {}
    scans: dict[int, Scan] = {}
    for node, restriction in _restricted_fixpoints(plan):
        group = groups.setdefault((node.group, node.inputs), _Group(node))
        name = group.outputs.setdefault(node.output, f"rows of {node.name} {len(groups)} for {reader}")
        group.questions.append(None if restriction is None else question(node, restriction))
        scans[id(node)] = Scan(name, node.alias, node.columns)

    def replaced(node: Relation) -> Relation:
        if id(node) in scans:
            return scans[id(node)]
        return with_children(node, tuple(map(replaced, children(node))))

    return PlanOverFixpoints(replaced(plan), tuple(group.evaluation() for group in groups.values()))


@dataclass(slots=True)
class _Group:
    """The fixpoints of one recursion in a plan."""

    node: Fixpoint
    outputs: dict[str, str] = field(default_factory=dict)
    questions: list[Question | None] = field(default_factory=list)
    """What each of them is asked; None for all rows."""

    def evaluation(self) -> _Evaluation:
        program = fixpoint_program(self.node)
        inputs = {name: given for name, given in program.given.items() if not isinstance(given, Scan)}
        rest = {name: given for name, given in program.given.items() if name not in inputs}
        asked = [q for q in self.questions if q is not None]
        demanded = DemandedRows.of(self.node, program, asked) if len(asked) == len(self.questions) else None
        return _Evaluation(self.node.group, replace(program, given=rest), demanded, inputs, self.outputs)


def _restricted_fixpoints(plan: Relation) -> Iterator[tuple[Fixpoint, Restrict | None]]:
    """The fixpoints in a plan that do not stand inside others, each with the restriction right above it."""
    if isinstance(plan, Fixpoint):
        yield plan, None
    elif isinstance(plan, Restrict) and isinstance(plan.input, Fixpoint):
        yield plan.input, plan
        yield from _restricted_fixpoints(plan.keys)
    else:
        for child in children(plan):
            yield from _restricted_fixpoints(child)

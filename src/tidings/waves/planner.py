"""Plans waves: by which strategy a batch is processed, and by which program.

Programs are compiled once and remembered, by what changed and by what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents
from tidings.compiled import CompiledPlans, Identity
from tidings.delta.cost import Sizes
from tidings.delta.plan import Program, compile_program
from tidings.delta.recompute import recompute_program
from tidings.engine.source import Source
from tidings.ir.relation import Aggregate, Filter, Fixpoint, Join, Project, Relation, Scan, Union, Unnest, Values
from tidings.ir.traverse import walk
from tidings.rewrite.accumulate import grows_only
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.relations import Relations
from tidings.store.relation.view import StoredView
from tidings.store.storage import Storage
from tidings.waves.engines import Engines
from tidings.waves.estimates import Estimator
from tidings.waves.strategy import NO_OP, Choice, Strategy, choose
from tidings.waves.wave import Wave, WaveRequest

_GROWING = (Scan, Values, Filter, Project, Join, Union, Unnest)
"""Operators over which more rows below mean more rows above."""

PLANS = 10_000
"""Of so many plans it is remembered what they read."""


@dataclass(frozen=True, slots=True)
class _BatchChanges:
    """What changed below a query in a batch."""

    definitions: dict[str, Relation]
    """The views whose rows are not stored for the whole batch, and the groupings of the query itself."""
    tables: frozenset[str]
    """The tables and stored views that changed."""
    inputs: frozenset[str]
    """The same for the differential, to which a view with a precomputed delta is like a table."""
    merged: frozenset[str]
    """Groupings into which the changes can be merged."""
    instants: pa.Array
    """The instants at which something changed, each once."""


class _QueryInputs(NamedTuple):
    """What a query reads in a batch."""

    definitions: dict[str, Relation]
    """The views whose rows are not stored for the whole batch, and the groupings of the query itself."""
    influents: frozenset[str]
    """The tables and stored views that it depends on."""
    below: frozenset[str]
    """The same, with views that have a precomputed delta in the place of what these depend on."""


@dataclass(slots=True)
class Planner:
    """Plans the waves of one database."""

    storage: Storage
    estimator: Estimator
    compiled: CompiledPlans
    only: Strategy | None = None
    """The strategy to use whatever the estimates say: a differential or a recompute."""
    _programs: dict[tuple[object, ...], tuple[Program, Program]] = field(init=False)
    """For each query and each kind of batch, the differential and the recompute."""
    _differentials: dict[tuple[object, ...], Program] = field(init=False)
    """Differentials that are asked for by what changed alone."""
    _inside: dict[tuple[Identity[Relation], frozenset[str]], dict[str, Relation]] = field(init=False)
    """The views that plans expand inside transactions, by what was touched, where no stored view is below them."""
    _below: dict[Identity[Relation], frozenset[str]] = field(init=False)
    """What plans read, directly or through views."""

    _over_stored: dict[Identity[Relation], bool] = field(init=False)
    """Whether plans read stored views, directly or through others."""
    _inputs: dict[tuple[object, ...], _QueryInputs] = field(init=False)
    """What queries read that have no stored view below them."""

    def __post_init__(self) -> None:
        section = self.compiled.section
        self._programs, self._differentials, self._below = section(), section(), section()
        self._inputs, self._inside, self._over_stored = section(), section(), section()

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    @property
    def engines(self) -> Engines:
        return self.estimator.engines

    def plan(self, request: WaveRequest) -> Wave:
        """Choose how to process a batch; the stored views that the query reads are up to date."""
        begun = perf_counter()
        batch = self._batch_changes(request)
        differential, recompute = self._compiled_programs(request, batch)
        changes = sum(self._changed_rows(request, r) for r in batch.inputs - {CLOCK})
        choice = self._choice(request, batch, differential, recompute, changes)

        def wave(choice: Choice, other: Callable[[], Wave] | None = None) -> Wave:
            program, ends = differential, (request.until,)
            if choice.strategy is Strategy.RECOMPUTE:
                program = recompute
                ends = ends if request.net else tuple(sorted(batch.instants.to_pylist()))
            seconds = perf_counter() - begun
            return Wave(
                choice,
                program,
                request.since,
                request.until,
                ends,
                changes,
                seconds,
                request.precomputed,
                other,
                states=request.states,
            )

        def other() -> Wave:
            assert choice.other is not None
            return wave(choice.other)

        has_other = choice.other_estimate is not None and not request.strict and self.only is None
        return wave(choice, other if has_other else None)

    def _choice(
        self, request: WaveRequest, batch: _BatchChanges, differential: Program, recompute: Program, changes: int
    ) -> Choice:
        """The strategy for a batch, by what each would take."""
        if not differential.steps:
            return NO_OP
        times = 1 if request.net else max(1, len(batch.instants))
        estimates = self.estimator.estimates(
            differential,
            None if CLOCK in batch.inputs or request.recursive or request.states else recompute,
            self._sizes(request, batch),
            changes=changes,
            times=times,
        )
        return choose(
            *estimates,
            merges=any(step.name in batch.merged for step in differential.steps),
            keyless=self.estimator.keyless(differential),
            strict=request.strict,
            only=self.only,
        )

    def differential(
        self,
        name: str,
        plan: Relation,
        changed: frozenset[str],
        definitions: Mapping[str, Relation],
        precomputed: frozenset[str] = frozenset(),
    ) -> Program:
        """The differential of a query for some changed tables, compiled once; it reads precomputed deltas of views."""
        key = (name, Identity(plan), changed, frozenset(definitions), precomputed)
        if key not in self._differentials:
            self._differentials[key] = compile_program(name, plan, changed, definitions, precomputed=precomputed)
        return self._differentials[key]

    def definitions_inside(self, plan: Relation, at: int, touched: frozenset[str]) -> dict[str, Relation]:
        """The views below a plan whose rows are not stored at an instant, and those that depend on touched tables.

        Found out once where no stored view is below it.
        """
        key = (Identity(plan), touched)
        if key in self._inside:
            return self._inside[key]
        definitions = self.definitions([plan], at, at)
        if touched:
            below = self.relations.definitions(names=self.below(plan))
            definitions |= {name: query for name, query in below.items() if self.below(query).intersection(touched)}
        if not self.reads_stored(plan):
            self._inside[key] = definitions
        return definitions

    def below(self, plan: Relation) -> frozenset[str]:
        """The tables and views that a plan reads, directly or through others; found out once."""
        key = Identity(plan)
        if key not in self._below:
            if len(self._below) >= PLANS:
                self._below.clear()
            self._below[key] = frozenset(self.relations.below(plan))
        return self._below[key]

    def definitions(self, plans: Iterable[Relation], since: int, until: int = 0) -> dict[str, Relation]:
        """The views below some plans whose rows are not stored from one instant to another."""
        return self.relations.definitions(since, until, sorted(frozenset().union(*map(self.below, plans))))

    def changed(self, relations: frozenset[str], since: int, until: int) -> frozenset[str]:
        """Those of some relations that changed in a batch; the clock always does."""
        if since >= until:
            return frozenset()
        return frozenset(r for r in relations if r == CLOCK or self.relations.rows(r).history.changed(since, until))

    def _batch_changes(self, request: WaveRequest) -> _BatchChanges:
        since, until, precomputed = request.since, request.until, request.precomputed
        groupings = request.groupings or {}
        definitions, influent, below = self._query_inputs(request, groupings)
        tables = self.changed(influent, since, until)
        inputs = (tables & below) | frozenset(r for r in below if r in precomputed and _size(precomputed[r]))
        merged = frozenset(n for n, node in groupings.items() if self._merges(node, definitions, since, until))
        instants = _distinct([self.relations.rows(r).history.instants(since, until) for r in tables - {CLOCK}])
        return _BatchChanges(definitions, tables, inputs, merged, instants)

    def _query_inputs(self, request: WaveRequest, groupings: Mapping[str, Aggregate]) -> _QueryInputs:
        """What a query reads in a batch; found out once where no stored view is below it."""
        plans, precomputed = (request.plan, *groupings.values()), frozenset(request.precomputed)
        key = (Identity(request.plan), tuple(groupings), precomputed)
        if key in self._inputs:
            return self._inputs[key]
        definitions = self.definitions(plans, request.since, request.until) | dict(groupings)
        over_precomputed = {n: d for n, d in definitions.items() if n not in precomputed}
        inputs = _QueryInputs(
            definitions, influents(request.plan, definitions), influents(request.plan, over_precomputed)
        )
        if not self.reads_stored(*plans):
            self._inputs[key] = inputs
        return inputs

    def reads_stored(self, *plans: Relation) -> bool:
        """Whether a stored view is below some plans: what these read depends on how far it has come."""
        return any(map(self._reads_stored, plans))

    def _reads_stored(self, plan: Relation) -> bool:
        key = Identity(plan)
        if key not in self._over_stored:
            below = map(self.relations.find, self.below(plan))
            self._over_stored[key] = any(isinstance(relation, StoredView) for relation in below)
        return self._over_stored[key]

    def _compiled_programs(self, request: WaveRequest, batch: _BatchChanges) -> tuple[Program, Program]:
        name, plan, definitions = request.name, request.plan, batch.definitions
        precomputed = frozenset(request.precomputed)
        changed = (batch.inputs, batch.tables, batch.merged)
        key = (name, Identity(plan), *changed, frozenset(definitions), precomputed, request.groupings is not None)
        if key not in self._programs:
            self._programs[key] = (
                compile_program(
                    name,
                    plan,
                    batch.inputs,
                    definitions,
                    stored=frozenset(request.groupings or {}),
                    merged=batch.merged,
                    precomputed=precomputed,
                ),
                recompute_program(name, plan, batch.tables, definitions, request.groupings),
            )
        return self._programs[key]

    def _changed_rows(self, request: WaveRequest, relation: str) -> int:
        """The number of changes of a relation in a batch."""
        if relation in request.precomputed:
            return _size(request.precomputed[relation])
        if relation in request.states:
            return 0
        return self.relations.rows(relation).history.change_count(request.since, request.until)

    def _sizes(self, request: WaveRequest, batch: _BatchChanges) -> Sizes:
        """What the estimates need to know of the relations of a batch."""
        unstored = request.precomputed.keys() | request.states.keys()

        def fanout(relation: str, column: str) -> float | None:
            if relation in unstored:
                return None
            return self.storage.fanout(self.relations.rows(relation), column)

        def rows(relation: str) -> int:
            if relation in request.states:
                return request.states[relation].rows
            return self.relations.rows(relation).history.size(request.since)

        return Sizes(
            cache(rows),
            cache(lambda relation: self._changed_rows(request, relation)),
            len(batch.instants),
            fanout,
            lambda relation: "" if relation in unstored else self.relations.rows(relation).sort_column,
        )

    def _merges(self, grouping: Aggregate, definitions: Mapping[str, Relation], since: int, until: int) -> bool:
        """Whether the changes of a batch can be merged into a stored grouping."""
        if not grows_only(grouping):
            return True
        below = normalise(grouping.input, definitions)
        if any(isinstance(n, Fixpoint) for n in walk(below)):
            return False
        tables = influents(below, definitions)
        growing = all(isinstance(n, _GROWING) for n in walk(below)) and CLOCK not in tables
        return growing and all(self.relations.rows(t).history.only_grows(since, until) for t in tables)


def _distinct(parts: list[pa.Array]) -> pa.Array:
    """Instants of several tables, each once."""
    return parts[0] if len(parts) == 1 else pc.unique(pa.chunked_array(parts, pa.int64()))


def _size(delta: Source) -> int:
    """The number of changes of a precomputed delta; it is in memory."""
    return int(delta.changes.num_rows) if isinstance(delta.changes, pa.Table) else 0

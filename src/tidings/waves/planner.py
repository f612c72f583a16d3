"""Planning waves: which strategy a batch is processed by, by which program, and on which engine.

Programs are compiled once and kept, by what changed and by what is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.influents import CLOCK, influents
from tidings.delta.cost import Sizes
from tidings.delta.plan import Program, compile_program
from tidings.delta.recompute import recompute_program
from tidings.engine.run import LIST_LIMIT, Runner
from tidings.engine.source import Source
from tidings.ir.relation import Aggregate, Filter, Join, Project, Relation, Scan, Union, Unnest, Values
from tidings.ir.traverse import walk
from tidings.rewrite.accumulate import grows_only
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.relations import Relations
from tidings.store.storage import Storage
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.strategy import Strategy, choose
from tidings.waves.wave import NOTHING, Given, Wave

_GROWING = (Scan, Values, Filter, Project, Join, Union, Unnest)
"""Operators over which more rows below mean more rows above."""


@dataclass(slots=True)
class Planner:
    """Plans waves over a catalog."""

    storage: Storage
    runner: Runner
    only: Strategy | None = None
    """The strategy to use whatever the estimates say: a differential or a recompute."""
    in_process: InProcessRunner | None = None
    """What runs small waves in this process, if that is wanted."""
    _programs: dict[tuple[object, ...], Program] = field(default_factory=dict)
    _held: dict[int, Relation] = field(default_factory=dict)
    """The plans of programs, which go by their identity and so must not go."""

    @property
    def relations(self) -> Relations:
        return self.storage.relations

    def forget(self) -> None:
        """Forget compiled programs: a definition has changed."""
        self._programs.clear()
        self._held.clear()
        if self.in_process is not None:
            self.in_process.forget()

    def plan(
        self,
        name: str,
        plan: Relation,
        since: int,
        until: int,
        *,
        net: bool,
        groupings: Mapping[str, Aggregate] | None = None,
        given: Given = NOTHING,
        strict: bool = False,
    ) -> Wave:
        """Choose how to process a batch; the stored views it reads are up to date.

        ``strict`` leaves out what only makes a recompute faster: it would be refused.

        ``groupings`` are those of a stored view, whose own rows are at hand as well; for other queries there are none.
        ``given`` are deltas of views below that have been computed for the same batch.
        """
        kept = dict(groupings or {})
        begun = perf_counter()
        definitions = self.relations.definitions(since, until) | kept
        leaves = {n: d for n, d in definitions.items() if n not in given}
        tables = influents(plan, definitions)
        moved = self.changed(tables, since, until)
        below = influents(plan, leaves)
        changed = (moved & below) | frozenset(g for g in below if g in given and _size(given[g]))
        merged = frozenset(g for g, node in kept.items() if self._merges(node, definitions, since, until))
        instants = _distinct([self.relations.rows(r).instants(since, until) for r in moved - {CLOCK}])
        stored = groupings is not None and len(instants) == 1
        key = (name, id(plan), changed, moved, frozenset(definitions), merged, frozenset(given), stored)
        self._held[id(plan)] = plan
        if key not in self._programs:
            names = frozenset(given)
            self._programs[key] = compile_program(
                name, plan, changed, definitions, stored=frozenset(kept), merged=merged, precomputed=names
            )
            self._programs[*key, "recompute"] = recompute_program(name, plan, moved, definitions, stored=stored)
        differential, recompute = self._programs[key], self._programs[*key, "recompute"]

        def changed_rows(r: str) -> int:
            return _size(given[r]) if r in given else self.relations.rows(r).change_count(since, until)

        changes = sum(map(changed_rows, changed - {CLOCK}))
        in_process = self.in_process is not None and self.in_process.obstacle(differential, changes) is None
        sizes = Sizes(
            lambda r: self.relations.rows(r).size(since),
            changed_rows,
            len(instants),
            lambda r, column: None if r in given else self.storage.fanout(self.relations.rows(r), column),
            fixed_cost=0 if in_process or strict else self.runner.backend.fixed_cost,
            listed=LIST_LIMIT,
        )
        choice = choose(differential, None if CLOCK in changed else recompute, merged, sizes, net=net, only=self.only)
        again = choice.strategy is Strategy.RECOMPUTE
        ends = (until,) if net or not again else tuple(sorted(instants.to_pylist()))
        program = recompute if again else differential
        return Wave(choice, program, since, until, ends, changes, perf_counter() - begun, given)

    def program(
        self, name: str, plan: Relation, changed: frozenset[str], definitions: Mapping[str, Relation]
    ) -> Program:
        """The differential of a query for some changed tables, compiled once and kept."""
        key = ("program", name, id(plan), changed, frozenset(definitions))
        self._held[id(plan)] = plan
        if key not in self._programs:
            self._programs[key] = compile_program(name, plan, changed, definitions)
        return self._programs[key]

    def changed(self, relations: frozenset[str], since: int, until: int) -> frozenset[str]:
        """Those of some relations that changed in a batch; the clock always does."""
        if since >= until:
            return frozenset()
        return frozenset(r for r in relations if r == CLOCK or self.relations.rows(r).changed(since, until))

    def _merges(self, groups: Aggregate, definitions: Mapping[str, Relation], since: int, until: int) -> bool:
        """Whether the changes of a batch can be merged into a kept grouping."""
        if not grows_only(groups):
            return True
        below = normalise(groups.input, definitions)
        tables = influents(below, definitions)
        growing = all(isinstance(n, _GROWING) for n in walk(below)) and CLOCK not in tables
        return growing and all(self.relations.rows(t).only_grows(since, until) for t in tables)

    def execution(self, wave: Wave) -> tuple[str, str]:
        """Where a wave runs, and why there."""
        engine = self.runner.backend.name
        if self.in_process is None:
            return engine, f"execution is {engine}"
        again = wave.choice.strategy is Strategy.RECOMPUTE
        program = wave.program
        against = (
            self.in_process.recompute_obstacle(program) if again else self.in_process.obstacle(program, wave.changes)
        )
        return ("in-process", "small, and the engines agree on it") if against is None else (engine, against)


def _distinct(parts: list[pa.Array]) -> pa.Array:
    """Instants of several tables, each once."""
    return parts[0] if len(parts) == 1 else pc.unique(pa.chunked_array(parts, pa.int64()))


def _size(delta: Source) -> int:
    """The number of changes that are given; they are in memory."""
    return int(delta.changes.num_rows) if isinstance(delta.changes, pa.Table) else 0

"""Tiny waves in this process: fetch the few rows they touch, and finish on the second engine.

Spark takes a good part of a second to plan a wave of some joins, however few rows it is about.  So with ``execution =
"auto"`` the rows a step needs of each state are looked up first (:mod:`tidings.delta.lookups`): in the files of the
snapshot, where few row groups have to be decoded, as when these are in the order of the column looked up by; the others
together in one Spark job.  The step itself is then run by a DuckDB in this process.

Only if both engines agree on every expression of the program (:mod:`tidings.analysis.agreed_plan`), the batch is tiny,
and no large relation has to be read whole; else the wave is Spark's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.agreed_plan import disagreement
from tidings.delta.lookups import LookedUp, Lookup, looked_up
from tidings.delta.plan import Program, Step
from tidings.engine.arrow import arrow_schema, arrow_type
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.engine.touched import Touched
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Version
from tidings.store.storage import Storage
from tidings.store.table import Table

TINY = 2_000
"""Up to this many changed rows a batch is tiny."""

AT_HAND = 500_000
"""Up to this many changed rows, if no state has to be read: the changes are in this process."""

WHOLE = 20_000
"""A relation of up to this many rows may be read whole."""

SCATTERED = 200
"""Up to this many row groups are decoded in this process for a lookup; more are Spark's work."""


class Found(NamedTuple):
    """What a wave in this process found, how many rows it looked up for that, and how long the lookups took."""

    deltas: dict[str, pa.Table]
    rows: int
    seconds: float


@dataclass(slots=True)
class Nearby:
    """Runs waves in this process where it may."""

    storage: Storage
    finisher: Runner
    """Runs steps on the second engine."""
    _prepared: dict[int, tuple[Program, str | None, list[LookedUp]]] = field(default_factory=dict)
    _batch: tuple[int, int] = (0, 0)
    _fetched: dict[tuple[object, ...], tuple[Source, list[pa.Table]]] = field(default_factory=dict)
    """What was looked up for the present batch, beside the changes it was looked up by: programs have it in common."""

    def why_not(self, program: Program, changes: int) -> str | None:
        """What speaks against running a program here; None if nothing does."""
        if changes > AT_HAND:
            return f"{changes:,} changed rows are more than {AT_HAND:,}"
        _, disagreed, steps = self._prepare(program)
        if disagreed is not None:
            return f"the engines may not agree on {disagreed}"
        if changes > TINY and any(step.lookups for step in steps):
            return f"{changes:,} changed rows are more than {TINY:,}"
        for lookup in (found for step in steps for found in step.lookups):
            table = self.storage.catalog.rows(lookup.relation)
            if lookup.column is None and table.base_size > WHOLE:
                return f"{lookup.relation} is read whole"
        return None

    def _prepare(self, program: Program) -> tuple[Program, str | None, list[LookedUp]]:
        """What is known of a program without its rows, found out once."""
        if id(program) not in self._prepared:
            found = (disagreement(step.plan) for step in program.steps)
            disagreed = next((f for f in found if f is not None), None)
            steps = [] if disagreed is not None else list(map(looked_up, program.steps))
            self._prepared[id(program)] = program, disagreed, steps
        return self._prepared[id(program)]

    def forget(self) -> None:
        """Forget programs: a definition has changed."""
        self._prepared.clear()

    def run(self, program: Program, sources: Sources, since: int, until: int, wanted: frozenset[str]) -> Found:
        """The deltas of a program's view and of those of its lower steps that are wanted."""
        if self._batch != (since, until):
            self._batch = since, until
            self._fetched.clear()
        made: dict[str, Source] = {}
        deltas: dict[str, pa.Table] = {}
        rows, seconds = 0, 0.0
        for step in self._prepare(program)[2]:
            work = _Work(self.storage, self.finisher, sources, made, since, until, self._fetched)
            begun = perf_counter()
            work.look_up(step.lookups)
            seconds += perf_counter() - begun
            rows += work.rows
            delta = work.run(step.step)
            made[step.step.name] = Source(step.step.columns, None, delta)
            if step.step.name in wanted or step.step.name == program.view:
                deltas[step.step.name] = delta
        return Found(deltas, rows, seconds)


@dataclass(slots=True)
class _Work:
    """One step: its lookups, then its delta."""

    storage: Storage
    finisher: Runner
    sources: Sources
    made: dict[str, Source]
    """The deltas of lower steps."""
    since: int
    until: int
    fetched: dict[tuple[object, ...], tuple[Source, list[pa.Table]]]
    rows: int = 0
    _found: dict[str, Source] = field(default_factory=dict)
    _waiting: list[tuple[Lookup, Touched]] = field(default_factory=list)

    def run(self, step: Step) -> pa.Table:
        return self.finisher.run(
            Program(step.name, frozenset(), step.columns, (step,)), self._source, self.since, self.until
        )

    def _source(self, relation: str, version: Version) -> Source:
        if relation in self._found:
            return self._found[relation]
        return self.made[relation] if relation in self.made else self.sources(relation, version)

    def look_up(self, lookups: tuple[Lookup, ...]) -> None:
        """Fetch the rows of all lookups; what only Spark can find is asked for together."""
        for lookup in lookups:
            if lookup.plan is not None:
                self._ask()
            common = self._common(lookup)
            if common in self.fetched:
                self._found[lookup.name] = self.fetched[common][0]
                continue
            table = self.storage.catalog.rows(lookup.relation)
            keys = self._keys(lookup)
            wanted = Touched(table.base or "", lookup.columns, lookup.column, keys, lookup.nulls)
            nothing = lookup.column is not None and not lookup.nulls and len(keys) == keys.null_count
            if table.base is None or nothing:
                self._take(lookup, wanted, arrow_schema(lookup.columns).empty_table())
            elif (rows := self._from_files(table, wanted)) is not None:
                self._take(lookup, wanted, rows)
            else:
                self._waiting.append((lookup, wanted))
        self._ask()

    def _by(self, lookup: Lookup) -> list[pa.Table]:
        """The changes a lookup depends on: those it takes its keys from, and those of what it is of."""
        log = self.sources(lookup.relation, lookup.version).changes
        return [*(self._delta(relation) for relation, _ in lookup.keys), log]

    def _common(self, lookup: Lookup) -> tuple[object, ...] | None:
        """What a lookup has in common with those of other programs that find the same; None if its keys are its own."""
        if lookup.plan is not None or any(relation in self.made for relation, _ in lookup.keys):
            return None
        return lookup.name, *map(id, self._by(lookup))

    def _ask(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            found = self.storage.backend.touched([wanted for _, wanted in waiting])
            for (lookup, wanted), rows in zip(waiting, found, strict=True):
                self._take(lookup, wanted, rows)

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once and as the column has them."""
        if lookup.column is None:
            return pa.nulls(0)
        type = arrow_type(lookup.column.type)
        if lookup.plan is not None:
            found = self.finisher.rows(lookup.plan, self._source, self.since, self.until).column(0).chunks
        else:
            found = [chunk for relation, name in lookup.keys for chunk in self._delta(relation).column(name).chunks]
        return pc.unique(pa.chunked_array([_as(type, chunk) for chunk in found], type))

    def _delta(self, relation: str) -> pa.Table:
        rows = self._source(relation, Version.DELTA).changes
        assert isinstance(rows, pa.Table), "tiny batches are in memory"
        return rows

    def _from_files(self, table: Table, wanted: Touched) -> pa.Table | None:
        """Rows of a snapshot, if they can be had by reading a little of it."""
        snapshot = self.storage.snapshots.get(table.id)
        if snapshot is None:
            return None
        if wanted.column is None:
            return snapshot.rows()
        keys = wanted.keys.drop_null()
        keys = pa.concat_arrays([keys, pa.nulls(1, keys.type)]) if wanted.nulls else keys
        name = wanted.column.name
        return snapshot.having(name, keys) if snapshot.effort(name, keys) <= SCATTERED else None

    def _take(self, lookup: Lookup, wanted: Touched, rows: pa.Table) -> None:
        """Let the rows of a lookup be read under its name, with what the log adds to them."""
        self.rows += rows.num_rows
        logged = self.sources(lookup.relation, lookup.version).changes
        assert isinstance(logged, pa.Table), "tiny batches are in memory"
        schema = arrow_schema(lookup.columns, versioned=True)
        changes = logged.select(schema.names)
        if wanted.column is not None and changes.num_rows:
            values = changes.column(wanted.column.name)
            keep = pc.is_in(values, value_set=wanted.keys.drop_null())
            changes = changes.filter(pc.or_(keep, pc.is_null(values)) if wanted.nulls else keep)
        both = pa.concat_tables([_before(rows, schema), changes])
        self._found[lookup.name] = source = Source(lookup.columns, None, both)
        common = self._common(lookup)
        if common is not None:
            self.fetched[common] = source, self._by(lookup)


def _as(type: pa.DataType, keys: pa.Array) -> pa.Array:
    """Keys as values of a column; those it cannot have are left out."""
    if keys.type == type:
        return keys
    try:
        return keys.cast(type)
    except pa.ArrowInvalid:
        bits = type.bit_width - 1
        fits = pc.and_(pc.greater_equal(keys, -(1 << bits)), pc.less(keys, 1 << bits))
        return keys.filter(fits).cast(type)


def _before(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Base rows as changes that were there before any batch."""
    rows = rows.select([n for n in schema.names if n not in (TIME, WEIGHT)])
    zeros, ones = (pa.repeat(pa.scalar(n, pa.int64()), rows.num_rows) for n in (0, 1))
    return rows.append_column(TIME, zeros).append_column(WEIGHT, ones).cast(schema)

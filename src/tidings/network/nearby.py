"""Tiny waves in this process: fetch the few rows they touch, and finish on the second engine.

Spark takes a good part of a second to plan a wave of some joins, however few rows it is about.  So with ``execution =
"auto"`` the rows a step needs of each state are looked up first (:mod:`tidings.delta.lookups`): in the files of the
snapshot, where few row groups have to be decoded, as when these are in the order of the column looked up by; the others
together in one Spark job.  The step itself is then run by a DuckDB in this process.

Only if both engines agree on every expression of the program (:mod:`tidings.analysis.agreed_plan`), the batch is tiny,
and no large relation has to be read whole; else the wave is Spark's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.analysis.agreed_plan import disagreement
from tidings.delta.lookups import KEY, KEYS, Lookup, looked_up
from tidings.delta.plan import Program, Step
from tidings.engine.arrow import arrow_schema, arrow_type
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.engine.touched import Touched
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column, Relation, Version
from tidings.store.snapshot import Snapshot
from tidings.store.storage import Storage
from tidings.store.table import Table

if TYPE_CHECKING:
    from tidings.engine.duckdb import DuckDB

AT_HAND = 500_000
"""Up to this many changed rows a batch may run here: they are in this process."""

WHOLE = 20_000
"""A relation of up to this many rows may be read whole, and is kept then."""

SCANNED = 50_000_000
"""Up to this many rows may be gone through in files."""

FEW, SCATTERED = 16, 400
"""A lookup decodes so few row groups, or a quarter of all up to so many; else all rows are gone through."""

LISTED = 2_000
"""Up to this many keys are looked up by Spark; for more the whole wave is Spark's."""


HELD = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 6
"""So many bytes of snapshots are held in memory, before they are compressed."""

_WIDTHS = {"string": 16, "binary": 16, "int": 4, "date": 4, "boolean": 1, "smallint": 2, "tinyint": 1}
"""Bytes per value; 8 for other types."""

_VERSION = ((TIME, pa.int64()), (WEIGHT, pa.int64()))


class TooFar(Exception):
    """What a wave touches is more than is read in this process."""


class Found(NamedTuple):
    """What a wave in this process found, how many rows it looked up for that, and how long the lookups took."""

    deltas: dict[str, pa.Table]
    rows: int
    seconds: float


class _Prepared(NamedTuple):
    """A step as it is run."""

    step: Step
    lookups: tuple[Lookup, ...]
    """What is looked up for it; nothing for a step of the first engine."""
    disagreed: str | None
    """What the engines may not agree on in it."""


def _prepared(step: Step) -> _Prepared:
    disagreed = disagreement(step.plan)
    if disagreed is not None:
        return _Prepared(step, (), disagreed)
    found = looked_up(step)
    return _Prepared(found.step, found.lookups, None)


@dataclass(slots=True)
class _Held:
    """The columns of a snapshot that are in memory."""

    base: str
    columns: tuple[Column, ...] = ()
    bytes: int = 0
    """About so much, before they are compressed."""
    times: int = 0
    """How often the snapshot was gone through."""

    @property
    def name(self) -> str:
        return f"{self.base}#held"


@dataclass(slots=True)
class Nearby:
    """Runs waves in this process where it may."""

    storage: Storage
    runner: Runner
    """Runs steps on the database's own engine."""
    second: DuckDB
    finisher: Runner = field(init=False)
    """Runs steps on the second engine."""
    _prepared: dict[int, tuple[Program, list[_Prepared]]] = field(default_factory=dict)
    _batch: tuple[int, int] = (0, 0)
    _fetched: dict[tuple[object, ...], tuple[Source, list[pa.Table]]] = field(default_factory=dict)
    """What was looked up for the present batch, beside the changes it was looked up by: programs have it in common."""
    _plans: dict[str, Relation] = field(default_factory=dict)
    _bases: dict[int, str] = field(default_factory=dict)
    """The snapshots that the second engine knows, by table."""
    _held: dict[int, _Held] = field(default_factory=dict)
    """What it has in memory of them."""

    def __post_init__(self) -> None:
        self.finisher = Runner(self.second)

    def why_not(self, program: Program, changes: int) -> str | None:
        """What speaks against running a program here; None if nothing does."""
        if changes > AT_HAND:
            return f"{changes:,} changed rows are more than {AT_HAND:,}"
        steps = self._prepare(program)
        if steps and all(step.disagreed is not None for step in steps):
            return f"the engines may not agree on {steps[-1].disagreed}"
        for lookup in (lookup for step in steps for lookup in step.lookups):
            table = self.storage.catalog.rows(lookup.relation)
            if lookup.column is None and table.base_size > self._limit(table):
                return f"{lookup.relation} is read whole"
        return None

    def why_not_again(self, program: Program) -> str | None:
        """What speaks against a recompute here."""
        disagreed = next((s.disagreed for s in self._prepare(program) if s.disagreed is not None), None)
        if disagreed is not None:
            return f"the engines may not agree on {disagreed}"
        tables = [self.storage.catalog.rows(r) for r in _relations(program)]
        if any(t.base is not None and t.id not in self.storage.snapshots for t in tables):
            return "not all rows are in files"
        rows = sum(t.base_size for t in tables)
        return f"a recompute of {rows:,} rows" if rows > SCANNED else None

    def again(self, program: Program, sources: Sources, since: int, until: int) -> pa.Table:
        """The delta of a recompute, over files."""
        for table in map(self.storage.catalog.rows, _relations(program)):
            if table.base is not None:
                self.base(table, self.storage.snapshots[table.id])
        return self.finisher.run(program, sources, since, until)

    def _limit(self, table: Table) -> int:
        """Up to how many rows a relation may be read whole; much more from files, which is not all held in memory."""
        return SCANNED if table.id in self.storage.snapshots else WHOLE

    def _prepare(self, program: Program) -> list[_Prepared]:
        """What is known of a program without its rows, found out once."""
        if id(program) not in self._prepared:
            self._prepared[id(program)] = program, list(map(_prepared, program.steps))
        return self._prepared[id(program)][1]

    def forget(self) -> None:
        """Forget programs: a definition has changed."""
        self._prepared.clear()
        self._plans.clear()

    def run(self, program: Program, sources: Sources, since: int, until: int, wanted: frozenset[str]) -> Found:
        """The deltas of a program's view and of those of its lower steps that are wanted; may be :class:`TooFar`.

        Steps on which the engines may not agree are the first engine's, over the deltas of the others.
        """
        if self._batch != (since, until):
            self._batch = since, until
            self._fetched.clear()
        made: dict[str, Source] = {}
        deltas: dict[str, pa.Table] = {}
        rows, seconds = 0, 0.0
        for step in self._prepare(program):
            work = _Work(self, sources, made, since, until)
            begun = perf_counter()
            work.look_up(step.lookups)
            seconds += perf_counter() - begun
            rows += work.rows
            delta = work.run(step.step, self.finisher if step.disagreed is None else self.runner)
            made[step.step.name] = Source(step.step.columns, None, delta)
            if step.step.name in wanted or step.step.name == program.view:
                deltas[step.step.name] = delta
        return Found(deltas, rows, seconds)

    def plan(self, lookup: Lookup) -> Relation:
        """What finds the rows of a lookup in files."""
        if lookup.name not in self._plans:
            self._plans[lookup.name] = lookup.plan_of_rows()
        return self._plans[lookup.name]

    def base(self, table: Table, snapshot: Snapshot) -> Source:
        """The rows of a snapshot, for the second engine: it reads them in their files."""
        assert table.base is not None
        known = self._bases.get(table.id)
        if known != table.base:
            if known is not None:
                self.finisher.backend.unload(known)
            snapshot.load_into(self.finisher.backend, table.base)
            self._bases[table.id] = table.base
        return _plain(table.columns, table.base)

    def columns(self, table: Table, snapshot: Snapshot, wanted: tuple[Column, ...]) -> Source:
        """Some columns of a snapshot that is gone through: in its files, and from the second time on in memory."""
        in_files = self.base(table, snapshot)
        held = self._held.get(table.id)
        if held is None or held.base != table.base:
            if held is not None:
                self.second.unload(held.name)
            held = self._held[table.id] = _Held(table.base or "")
        held.times += 1
        if held.times > 1 and not set(wanted) <= set(held.columns):
            self._hold(table, held, wanted)
        return _plain(wanted, held.name) if set(wanted) <= set(held.columns) else in_files

    def _hold(self, table: Table, held: _Held, wanted: tuple[Column, ...]) -> None:
        """Bring columns into memory: those that are wanted, and those that other lookups want, if there is room."""
        lookups = (lookup for _, steps in self._prepared.values() for step in steps for lookup in step.lookups)
        others = [lookup.columns for lookup in lookups if self.storage.catalog.rows(lookup.relation) is table]
        known = set(held.columns).union(wanted)
        for more in (known.union(*others), known):
            columns = tuple(c for c in table.columns if c in more)
            taken = sum(h.bytes for h in self._held.values() if h is not held)
            bytes = sum(_WIDTHS.get(c.type, 8) for c in columns) * table.base_size
            if taken + bytes <= HELD:
                self.second.hold(held.name, columns, held.base)
                held.columns, held.bytes = columns, bytes
                return


@dataclass(slots=True)
class _Work:
    """One step: its lookups, then its delta."""

    nearby: Nearby
    sources: Sources
    made: dict[str, Source]
    """The deltas of lower steps."""
    since: int
    until: int
    rows: int = 0
    _found: dict[str, Source] = field(default_factory=dict)
    _waiting: list[tuple[Lookup, Touched]] = field(default_factory=list)

    def run(self, step: Step, runner: Runner) -> pa.Table:
        alone = Program(step.name, frozenset(), step.columns, (step,))
        return runner.run(alone, self._source, self.since, self.until)

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
            if common in self.nearby._fetched:
                self._found[lookup.name] = self.nearby._fetched[common][0]
                continue
            table = self.nearby.storage.catalog.rows(lookup.relation)
            keys = self._keys(lookup)
            wanted = Touched(table.base or "", lookup.columns, lookup.column, keys, lookup.nulls)
            nothing = lookup.column is not None and not lookup.nulls and len(keys) == keys.null_count
            if table.base is None or nothing:
                self._take(lookup, wanted, arrow_schema(lookup.columns).empty_table())
            elif lookup.is_whole and table.base_size > WHOLE:
                self._found[lookup.name] = self._in_files(table, lookup)
            elif (rows := self._from_files(table, wanted, lookup)) is not None:
                self._take(lookup, wanted, rows)
            elif len(keys) <= LISTED:
                self._waiting.append((lookup, wanted))
            else:
                raise TooFar(f"{len(keys):,} keys are looked up in {lookup.relation}")
        self._ask()

    def _in_files(self, table: Table, lookup: Lookup) -> Source:
        """All rows of a state, where they are."""
        base = self.nearby.columns(table, self.nearby.storage.snapshots[table.id], lookup.columns)
        return Source(lookup.columns, base.base, self.sources(lookup.relation, lookup.version).changes)

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
            found = self.nearby.storage.backend.touched([wanted for _, wanted in waiting])
            for (lookup, wanted), rows in zip(waiting, found, strict=True):
                self._take(lookup, wanted, rows)

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once and as the column has them."""
        if lookup.column is None:
            return pa.nulls(0)
        type = arrow_type(lookup.column.type)
        if lookup.plan is not None:
            found = self.nearby.finisher.rows(lookup.plan, self._source, self.since, self.until).column(0).chunks
        else:
            found = [chunk for relation, name in lookup.keys for chunk in self._delta(relation).column(name).chunks]
        return pc.unique(pa.chunked_array([_as(type, chunk) for chunk in found], type))

    def _delta(self, relation: str) -> pa.Table:
        rows = self._source(relation, Version.DELTA).changes
        assert isinstance(rows, pa.Table), "tiny batches are in memory"
        return rows

    def _from_files(self, table: Table, wanted: Touched, lookup: Lookup) -> pa.Table | None:
        """Rows of a snapshot, if they can be had by reading a little of it."""
        snapshot = self.nearby.storage.snapshots.get(table.id)
        if snapshot is None:
            return None
        if wanted.column is None and table.base_size <= WHOLE:
            return snapshot.rows()
        if wanted.column is not None:
            keys = wanted.keys.drop_null()
            keys = pa.concat_arrays([keys, pa.nulls(1, keys.type)]) if wanted.nulls else keys
            name = wanted.column.name
            if snapshot.effort(name, keys) <= min(SCATTERED, max(FEW, snapshot.row_groups // 4)):
                return snapshot.having(name, keys, wanted.columns)
        return None if table.base_size > SCANNED else self._scanned(table, snapshot, lookup, wanted.keys)

    def _scanned(self, table: Table, snapshot: Snapshot, lookup: Lookup, keys: pa.Array) -> pa.Table:
        """The rows of a lookup by going through files; row groups that cannot have any are left out."""
        base = self.nearby.columns(table, snapshot, lookup.columns)
        listed = _before(pa.table({KEY: keys}), pa.schema([(KEY, keys.type), *_VERSION]))
        given = Source((Column(KEY, lookup.column.type),), None, listed) if lookup.column is not None else base
        plan = self.nearby.plan(lookup)
        return self.nearby.finisher.rows(
            plan, lambda relation, _version: given if relation == KEYS else base, self.since, self.until
        )

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
            self.nearby._fetched[common] = source, self._by(lookup)


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


def _relations(program: Program) -> set[str]:
    """What a program reads."""
    return {scan.relation for step in program.steps for scan in step.scans}


def _plain(columns: tuple[Column, ...], base: str) -> Source:
    """The rows of a base and nothing else."""
    return Source(columns, base, arrow_schema(columns, versioned=True).empty_table())

"""The lookups of a step: the rows that it needs of each state, found in the cheapest way there is.

The delta's keys say which rows.  Row groups that may hold some of them are decoded, if these are few, as where a
snapshot is in the order of the column looked up by; else all rows are gone through, by the second engine.  What is in
no file, and what is too large, is asked of the first engine, in one query as far as no lookup waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.lookups import KEY, KEYS, Lookup, lookup_plan
from tidings.delta.plan import Program, Step
from tidings.engine.arrow import arrow_schema, arrow_type
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.changes import versioned
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.errors import UnknownRelation
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column, Relation, Version
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.in_process.snapshot_cache import SnapshotCache

WHOLE = 20_000
"""A relation of up to this many rows may be read whole, and is kept then."""

SCANNED = 50_000_000
"""Up to this many rows may be gone through in files."""

FEW, SCATTERED = 16, 400
"""A lookup decodes so few row groups and a quarter of all, up to so many; else all rows are gone through."""

AGAIN = 64
"""A few keys of the column in whose order the rows are may be in so many row groups: what is decoded for them is kept.
"""

LISTED = 2_000
"""Up to this many keys are asked of the first engine; for more the whole wave is."""

_VERSION = ((TIME, pa.int64()), (WEIGHT, pa.int64()))


class LookupTooLarge(Exception):
    """What a wave touches is more than is read in this process."""


@dataclass(slots=True)
class LookupCache:
    """What lookups have in common."""

    steps: dict[int, tuple[Lookup, ...]] = field(default_factory=dict)
    """The lookups of all steps that were prepared."""
    fetched: dict[tuple[object, ...], tuple[Source, list[pa.Table]]] = field(default_factory=dict)
    """What was looked up for the present batch: programs have it in common.

    It goes by the identity of the changes it depends on, which are beside it and so stay what they are.
    """
    _plans: dict[str, Relation] = field(default_factory=dict)

    def lookups(self) -> Iterator[Lookup]:
        """All of them."""
        return (lookup for lookups in self.steps.values() for lookup in lookups)

    def plan(self, lookup: Lookup) -> Relation:
        """What finds the rows of a lookup; made once, since its text is kept."""
        if lookup.name not in self._plans:
            self._plans[lookup.name] = lookup_plan(lookup)
        return self._plans[lookup.name]


class _Wanted(NamedTuple):
    """A lookup, what it asks for, and what that depends on."""

    lookup: Lookup
    touched: BaseLookup
    by: list[pa.Table] | None


@dataclass(slots=True)
class StepLookups:
    """One step: its lookups, then its delta."""

    storage: Storage
    second_runner: Runner
    snapshot_cache: SnapshotCache
    known: LookupCache
    sources: Sources
    made: dict[str, Source]
    """The deltas of lower steps."""
    since: int
    until: int
    rows: int = 0
    _found: dict[str, Source] = field(default_factory=dict)
    _waiting: list[_Wanted] = field(default_factory=list)

    def run(self, step: Step, runner: Runner) -> pa.Table:
        alone = Program(step.name, frozenset(), step.columns, (step,))
        return runner.run(alone, self._source, self.since, self.until)

    def _source(self, relation: str, version: Version) -> Source:
        if relation in self._found:
            return self._found[relation]
        if relation in self.made and version is Version.DELTA:
            return self.made[relation]
        return self.sources(relation, version)

    def look_up(self, lookups: tuple[Lookup, ...]) -> None:
        """Fetch the rows of all lookups; what only Spark can find is asked for together."""
        for lookup in lookups:
            if lookup.plan is not None:
                self._ask()
            by = self._by(lookup)
            if by is not None and _common(lookup, by) in self.known.fetched:
                self._found[lookup.name] = self.known.fetched[_common(lookup, by)][0]
                continue
            table = kept(self.storage, lookup.relation)
            base = None if table is None else table.base
            keys = self._keys(lookup)
            touched = BaseLookup(base or "", lookup.columns, lookup.column, keys, lookup.nulls)
            wanted = _Wanted(lookup, touched, by)
            nothing = lookup.column is not None and not lookup.nulls and len(keys) == keys.null_count
            if table is None or base is None or nothing:
                self._take(wanted, arrow_schema(lookup.columns).empty_table())
            elif lookup.is_whole and table.base_size > WHOLE:
                self._found[lookup.name] = self._in_files(table, lookup)
            elif (rows := self._from_files(table, touched, lookup)) is not None:
                self._take(wanted, rows)
            elif len(keys) <= LISTED:
                self._waiting.append(wanted)
            else:
                raise LookupTooLarge(f"{len(keys):,} keys are looked up in {lookup.relation}")
        self._ask()

    def _in_files(self, table: Table, lookup: Lookup) -> Source:
        """All rows of a state, where they are."""
        base = self._columns(table, self.storage.snapshots[table.id], lookup)
        return Source(lookup.columns, base.base, self.sources(lookup.relation, lookup.version).changes)

    def _by(self, lookup: Lookup) -> list[pa.Table] | None:
        """The changes a lookup depends on: those it takes its keys from, and those of what it is of.

        None if its keys are those of its own program.
        """
        if lookup.plan is not None or any(relation in self.made for relation, _ in lookup.keys):
            return None
        return [*(self._delta(relation) for relation, _ in lookup.keys), self._log(lookup)]

    def _log(self, lookup: Lookup) -> pa.Table:
        """What the log adds to the rows of a lookup."""
        rows = self.sources(lookup.relation, lookup.version).changes
        assert isinstance(rows, pa.Table), "small batches are in memory"
        return rows

    def _ask(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            found = self.storage.backend.look_up([wanted.touched for wanted in waiting])
            for wanted, rows in zip(waiting, found, strict=True):
                self._take(wanted, rows)

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once and as the column has them."""
        if lookup.column is None:
            return pa.nulls(0)
        type = arrow_type(lookup.column.type)
        if lookup.plan is not None:
            found = self.second_runner.rows(lookup.plan, self._source, self.since, self.until).column(0).chunks
        else:
            found = [chunk for relation, name in lookup.keys for chunk in self._delta(relation).column(name).chunks]
        return pc.unique(pa.chunked_array([_as(type, chunk) for chunk in found], type))

    def _delta(self, relation: str) -> pa.Table:
        rows = self._source(relation, Version.DELTA).changes
        assert isinstance(rows, pa.Table), "small batches are in memory"
        return rows

    def _from_files(self, table: Table, wanted: BaseLookup, lookup: Lookup) -> pa.Table | None:
        """Rows of a snapshot, if they can be had by reading a little of it."""
        snapshot = self.storage.snapshots.get(table.id)
        if snapshot is None:
            return None
        if wanted.column is None and table.base_size <= WHOLE:
            return snapshot.rows()
        if wanted.column is not None:
            keys = wanted.keys.drop_null()
            keys = pa.concat_arrays([keys, pa.nulls(1, keys.type)]) if wanted.nulls else keys
            name = wanted.column.name
            in_order = name == snapshot.key and len(keys) <= LISTED
            far = snapshot.row_groups // 4 + FEW
            if snapshot.effort(name, keys) <= min(SCATTERED, max(far, AGAIN) if in_order else far):
                return snapshot.having(name, keys, wanted.columns)
        return None if table.base_size > SCANNED else self._scanned(table, snapshot, lookup, wanted.keys)

    def _scanned(self, table: Table, snapshot: Snapshot, lookup: Lookup, keys: pa.Array) -> pa.Table:
        """The rows of a lookup by going through files; row groups that cannot have any are left out."""
        base = self._columns(table, snapshot, lookup)
        listed = _before(pa.table({KEY: keys}), pa.schema([(KEY, keys.type), *_VERSION]))
        given = Source((Column(KEY, lookup.column.type),), None, listed) if lookup.column is not None else base
        return self.second_runner.rows(
            self.known.plan(lookup),
            lambda relation, _version: given if relation == KEYS else base,
            self.since,
            self.until,
        )

    def _columns(self, table: Table, snapshot: Snapshot, lookup: Lookup) -> Source:
        """The columns of a lookup, all rows of them."""
        of_table = (k.columns for k in self.known.lookups() if kept(self.storage, k.relation) is table)
        return self.snapshot_cache.columns(table, snapshot, lookup.columns, of_table)

    def _take(self, wanted: _Wanted, rows: pa.Table) -> None:
        """Let the rows of a lookup be read under its name, with what the log adds to them."""
        self.rows += rows.num_rows
        lookup, touched, by = wanted
        schema = arrow_schema(lookup.columns, versioned=True)
        changes = self._log(lookup).select(schema.names)
        if touched.column is not None and changes.num_rows:
            values = changes.column(touched.column.name)
            keep = pc.is_in(values, value_set=touched.keys.drop_null())
            changes = changes.filter(pc.or_(keep, pc.is_null(values)) if touched.nulls else keep)
        both = pa.concat_tables([_before(rows, schema), changes])
        self._found[lookup.name] = source = Source(lookup.columns, None, both)
        if by is not None:
            self.known.fetched[_common(lookup, by)] = source, by


def kept(storage: Storage, relation: str) -> Table | None:
    """The table that has the rows of a relation; None if all there is of it are changes that are given."""
    try:
        return storage.relations.rows(relation)
    except UnknownRelation:
        return None


def _common(lookup: Lookup, by: list[pa.Table]) -> tuple[object, ...]:
    """What a lookup has in common with those of other programs that find the same."""
    return lookup.name, *map(id, by)


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
    return versioned(rows.select([n for n in schema.names if n not in (TIME, WEIGHT)])).cast(schema)

"""Fetches the rows that a step needs of each state, before the step runs in this process.

The keys of the step's deltas say which rows.  They are read from snapshots where that is cheap
(:mod:`tidings.waves.in_process.snapshot_reader`).  What is in no file, and what is too large, is asked of the
database's engine, in one query as far as no lookup waits for another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.lookups import Lookup
from tidings.engine.arrow import arrow_schema, arrow_type
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.changes import as_changes
from tidings.engine.run import Runner
from tidings.engine.source import Source, Sources
from tidings.ir.relation import Version
from tidings.store.storage import Storage
from tidings.waves.in_process.lookup_cache import LookupCache
from tidings.waves.in_process.snapshot_reader import KEYS_LIMIT, SnapshotReader


class LookupTooLarge(Exception):
    """A wave would look up more than is read in this process."""


@dataclass(slots=True)
class StepInputs:
    """What a step reads over the batch ``(since, until]``."""

    sources: Sources
    step_deltas: Mapping[str, Source]
    """The deltas of lower steps."""
    since: int
    until: int
    looked_up: dict[str, Source] = field(default_factory=dict)
    """The rows of lookups, by the names of these."""

    def source(self, relation: str, version: Version) -> Source:
        if relation in self.looked_up:
            return self.looked_up[relation]
        if relation in self.step_deltas and version is Version.DELTA:
            return self.step_deltas[relation]
        return self.sources(relation, version)

    def delta(self, relation: str) -> pa.Table:
        """The changes of a relation in the batch."""
        return _in_memory(self.source(relation, Version.DELTA))

    def log(self, lookup: Lookup) -> pa.Table:
        """What the log adds to the base rows of a lookup."""
        return _in_memory(self.sources(lookup.relation, lookup.version))


class _PendingLookup(NamedTuple):
    """A lookup, the base rows it asks for, and the changes that these depend on."""

    lookup: Lookup
    base_lookup: BaseLookup
    changes: list[pa.Table] | None
    """None if it depends on deltas of its own program."""


@dataclass(slots=True)
class StepLookups:
    """Makes the lookups of one step."""

    storage: Storage
    second_runner: Runner
    snapshots: SnapshotReader
    cache: LookupCache
    inputs: StepInputs
    rows_read: int = field(init=False, default=0)
    _pending: list[_PendingLookup] = field(init=False, default_factory=list)
    """Lookups that the database's engine is to make."""

    def fetch(self, lookups: tuple[Lookup, ...]) -> None:
        """Fetch the rows of all lookups into the inputs of the step.

        Raises :class:`LookupTooLarge` where that would read too much.
        """
        for lookup in lookups:
            if lookup.plan is not None:
                self._ask_engine()
            changes = self._changes(lookup)
            rows = None if changes is None else self.cache.rows(lookup, changes)
            if rows is None:
                self._fetch(lookup, changes)
            else:
                self.inputs.looked_up[lookup.name] = rows
        self._ask_engine()

    def _fetch(self, lookup: Lookup, changes: list[pa.Table] | None) -> None:
        table, batch = self.snapshots.table(lookup.relation), (self.inputs.since, self.inputs.until)
        base = None if table is None else table.base
        keys = self._keys(lookup)
        base_lookup = BaseLookup(base or "", lookup.columns, lookup.column, keys, lookup.nulls)
        pending = _PendingLookup(lookup, base_lookup, changes)
        without_keys = lookup.column is not None and not lookup.nulls and len(keys) == keys.null_count
        if table is None or base is None or without_keys:
            self._take(pending, arrow_schema(lookup.columns).empty_table())
        elif lookup.is_whole and not self.snapshots.is_small(table):
            source = self.snapshots.in_place(table, lookup)
            log = self.inputs.sources(lookup.relation, lookup.version).changes
            self.inputs.looked_up[lookup.name] = Source(lookup.columns, source.base, log)
        elif (rows := self.snapshots.rows(table, lookup, keys, batch)) is not None:
            self._take(pending, rows)
        elif len(keys) <= KEYS_LIMIT:
            self._pending.append(pending)
        else:
            raise LookupTooLarge(f"{len(keys):,} keys are looked up in {lookup.relation}")

    def _changes(self, lookup: Lookup) -> list[pa.Table] | None:
        """The changes a lookup depends on: those it takes its keys from, and those of the relation it reads.

        None if its keys come from a delta of its own program.
        """
        if lookup.plan is not None or any(relation in self.inputs.step_deltas for relation, _ in lookup.keys):
            return None
        return [*(self.inputs.delta(relation) for relation, _ in lookup.keys), self.inputs.log(lookup)]

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once and in the type of the column."""
        if lookup.column is None:
            return pa.nulls(0)
        type = arrow_type(lookup.column.type)
        if lookup.plan is not None:
            inputs = self.inputs
            chunks = self.second_runner.rows(lookup.plan, inputs.source, inputs.since, inputs.until).column(0).chunks
        else:
            chunks = [c for relation, name in lookup.keys for c in self.inputs.delta(relation).column(name).chunks]
        return pc.unique(pa.chunked_array([_as(type, chunk) for chunk in chunks], type))

    def _ask_engine(self) -> None:
        """Let the database's engine make the lookups that wait for it, in one query."""
        pending, self._pending = self._pending, []
        if pending:
            results = self.storage.backend.look_up([p.base_lookup for p in pending])
            for lookup, rows in zip(pending, results, strict=True):
                self._take(lookup, rows)

    def _take(self, pending: _PendingLookup, rows: pa.Table) -> None:
        """Let the rows of a lookup be read under its name, with what the log adds to them."""
        self.rows_read += rows.num_rows
        lookup, base_lookup, changes = pending
        base = as_changes(lookup.columns, rows.select([c.name for c in lookup.columns]))
        log = self.inputs.log(lookup).select(base.column_names)
        if base_lookup.column is not None and log.num_rows:
            values = log.column(base_lookup.column.name)
            matches = pc.is_in(values, value_set=base_lookup.keys.drop_null())
            log = log.filter(pc.or_(matches, pc.is_null(values)) if base_lookup.nulls else matches)
        source = Source(lookup.columns, None, pa.concat_tables([base, log]))
        self.inputs.looked_up[lookup.name] = source
        if changes is not None:
            self.cache.add_rows(lookup, changes, source)


def _in_memory(source: Source) -> pa.Table:
    assert isinstance(source.changes, pa.Table), "small batches are in memory"
    return source.changes


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

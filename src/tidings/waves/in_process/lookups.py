"""Fetches the rows that a step needs of each state, before the step runs in this process.

The keys of the step's deltas say which rows.  They are read from snapshots where that is cheap
(:mod:`tidings.waves.in_process.snapshot_reader`).  What is in no file, and what is too large, is asked of the
database's engine, in one query as far as no lookup waits for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from tidings.analysis.influents import CLOCK, reads
from tidings.delta.key_columns import KeyColumn
from tidings.delta.lookups import Lookup
from tidings.engine.arrow import arrow_schema
from tidings.engine.base_lookup import BaseLookup
from tidings.engine.run import Runner
from tidings.engine.source import Source
from tidings.store.storage import Storage
from tidings.waves.in_process.lookup_cache import LookupCache
from tidings.waves.in_process.small_steps import SmallSteps
from tidings.waves.in_process.snapshot_reader import KEYS_LIMIT, SnapshotReader
from tidings.waves.step_inputs import LookupTooLarge, StepInputs, distinct_keys, key_values


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
    small_steps: SmallSteps
    snapshots: SnapshotReader
    cache: LookupCache
    inputs: StepInputs
    rows_read: int = field(init=False, default=0)
    _pending: list[_PendingLookup] = field(init=False, default_factory=list)
    """Lookups that the database's engine is to make."""
    _known_keys: dict[tuple[tuple[KeyColumn, ...], str], pa.Array] = field(init=False, default_factory=dict)
    """Keys that stand in some columns, by the type in which they are wanted; most lookups of a step share them."""

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
        plan, inputs = lookup.plan, self.inputs
        relations = [relation for relation, _ in lookup.keys] if plan is None else sorted(reads(plan))
        if any(relation == CLOCK or relation in inputs.step_deltas for relation in relations):
            return None
        return [*map(inputs.delta, relations), inputs.log(lookup)]

    def _keys(self, lookup: Lookup) -> pa.Array:
        """The keys of a lookup, each once and in the type of the column."""
        if lookup.column is None:
            return key_values(lookup, self.inputs)
        if lookup.plan is None:
            known = lookup.keys, lookup.column.type
            if known not in self._known_keys:
                self._known_keys[known] = key_values(lookup, self.inputs)
            return self._known_keys[known]
        inputs = self.inputs
        rows = self.small_steps.rows(lookup.plan, inputs.source, inputs.since, inputs.until)
        if rows is None:
            rows = self.second_runner.rows(lookup.plan, inputs.source, inputs.since, inputs.until)
        return distinct_keys(rows.column(0).chunks, lookup.column.type)

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
        source = self.inputs.add(pending.lookup, pending.base_lookup.keys, rows)
        if pending.changes is not None:
            self.cache.add_rows(pending.lookup, pending.changes, source)

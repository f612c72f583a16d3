"""What a step reads, once the rows that it needs of each state have been looked up.

A step over lookups (:mod:`tidings.delta.lookups`) reads deltas and rows that were looked up, all of them in memory.
This holds for waves in this process and for waves on the database's engine alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.delta.lookups import Lookup
from tidings.engine.arrow import arrow_type
from tidings.engine.changes import as_changes
from tidings.engine.source import Source, Sources
from tidings.ir.relation import Version


class LookupTooLarge(Exception):
    """A wave would look up more than is read at once."""


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
        """The changes of a relation in the batch, or the rows of a lookup."""
        return _in_memory(self.source(relation, Version.DELTA))

    def log(self, lookup: Lookup) -> pa.Table:
        """What the log adds to the base rows of a lookup."""
        return _in_memory(self.sources(lookup.relation, lookup.version))

    def add(self, lookup: Lookup, keys: pa.Array, rows: pa.Table) -> Source:
        """Let the base rows of a lookup be read under its name, with what the log adds to them."""
        changes, log = as_changes(lookup.columns, rows.select([c.name for c in lookup.columns])), self.log(lookup)
        if log.num_rows:
            changes = pa.concat_tables([changes, having_keys(log.select(changes.column_names), lookup, keys)])
        source = Source(lookup.columns, None, changes)
        self.looked_up[lookup.name] = source
        return source


def having_keys(rows: pa.Table, lookup: Lookup, keys: pa.Array) -> pa.Table:
    """Those of some rows that a lookup asks for."""
    if lookup.column is None or not rows.num_rows:
        return rows
    values = rows.column(lookup.column.name)
    matches = pc.is_in(values, value_set=keys.drop_null())
    return rows.filter(pc.or_(matches, pc.is_null(values)) if lookup.nulls else matches)


def key_values(lookup: Lookup, inputs: StepInputs) -> pa.Array:
    """The keys of a lookup, as they stand in deltas and in rows that were looked up before.

    They may be more than the lookup's plan would find: conditions of the plan are left out.
    """
    if lookup.column is None:
        return pa.nulls(0)
    columns = (inputs.delta(relation).column(name) for relation, name in lookup.keys)
    return distinct_keys([chunk for column in columns for chunk in column.chunks], lookup.column.type)


def distinct_keys(chunks: Iterable[pa.Array], type: str) -> pa.Array:
    """Keys, each once, as values of a type; those it cannot have are left out."""
    target = arrow_type(type)
    return pc.unique(pa.chunked_array([_as(target, chunk) for chunk in chunks], target))


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

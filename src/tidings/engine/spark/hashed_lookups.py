"""Lookups by many keys on Spark: one query for all of them, with one broadcast.

The keys of all lookups are one relation.  A row of it has the number of a lookup and one of its keys, in the column for
the type of that key; the other columns are NULL, which a hash passes over.  A row of a base is looked up if the hash of
the lookup's number and of its key is among the hashes of these rows:

    base ⋉ keys  on  xxhash64(number, key of the base) = xxhash64(number, key, key, …)

Since this relation is the same for all lookups, Spark broadcasts it once.  Two keys may have the same hash, so that
rows come along that nobody asked for; they meet nothing.

Where a base is in the order of the keys, ranges around them let Spark pass over parts of files and of cached rows.
Elsewhere the query has no literals that differ from wave to wave: Spark compiles it to the same code each time, which
runs hot from the second time on.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_type
from tidings.engine.base_lookup import BaseLookup, lookup_text
from tidings.engine.sql.combined import combined
from tidings.engine.sql.literals import within
from tidings.engine.sql.quoting import quoted
from tidings.ir import types

LISTED_IN_ORDER = 400
"""Up to so many keys of a base in their order are literals; a longer list takes Spark longer than a broadcast."""

LISTED = 20
"""The same for a base in any order, all of which is gone through."""

KEYS = "__lookup_keys"
"""The name under which the keys can be read."""

_NUMBER, _HASH = "number", "hash"

_RANGED = 100_000
"""Of more keys than this only the least and the greatest are a range."""


def is_hashed(lookup: BaseLookup) -> bool:
    """Whether the keys of a lookup are too many for a list."""
    return lookup.column is not None and len(lookup.keys) > (LISTED_IN_ORDER if lookup.in_order else LISTED)


def key_rows(lookups: list[BaseLookup]) -> pa.Table:
    """The relation of the keys of all lookups that have too many for a list."""
    places = _places(lookups)
    parts = []
    for number, lookup in enumerate(lookups):
        if lookup.column is None or not is_hashed(lookup):
            continue
        keys = lookup.keys.drop_null()
        if lookup.nulls:
            keys = pa.concat_arrays([keys, pa.nulls(1, keys.type)])
        columns = {_NUMBER: pa.repeat(pa.scalar(number, pa.int32()), len(keys))}
        for type, name in places.items():
            columns[name] = keys if type == lookup.column.type else pa.nulls(len(keys), arrow_type(type))
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def hashed_query(lookups: list[BaseLookup], views: list[str]) -> str:
    """One query for all lookups; ``views`` are the names under which their bases are read."""
    places = _places(lookups)
    keys = f"SELECT xxhash64({', '.join([_NUMBER, *places.values()])}) AS {_HASH} FROM {KEYS}"
    texts = []
    for number, (lookup, view) in enumerate(zip(lookups, views, strict=True)):
        if lookup.column is None or not is_hashed(lookup):
            texts.append(lookup_text(lookup, view, "spark"))
            continue
        names = ", ".join(f"b.{quoted(c.name, 'spark')}" for c in lookup.columns)
        key = f"b.{quoted(lookup.column.name, 'spark')}"
        texts.append(
            f"SELECT /*+ BROADCAST(k) */ {names} FROM {view} AS b LEFT SEMI JOIN ({keys}) AS k"
            f" ON xxhash64(CAST({number} AS INT), {key}) = k.{_HASH} WHERE {_range(lookup, key)}"
        )
    return combined(texts, [lookup.columns for lookup in lookups], "spark")


def _places(lookups: list[BaseLookup]) -> dict[str, str]:
    """The columns of the keys, by type."""
    found = dict.fromkeys(k.column.type for k in lookups if k.column is not None and is_hashed(k))
    return {type: f"key{place}" for place, type in enumerate(found)}


def _range(lookup: BaseLookup, key: str) -> str:
    """A condition that all looked-up rows meet, and rows whose keys are far from theirs do not."""
    assert lookup.column is not None
    type, keys = lookup.column.type, lookup.keys.drop_null()
    if not lookup.in_order or type == "boolean":
        return "TRUE"
    ends = pc.min_max(keys)
    values = pa.array([ends["min"].as_py(), ends["max"].as_py()], keys.type)
    if type in types.INTEGRAL and len(keys):
        values = keys if len(keys) <= _RANGED and _has_gaps(keys) else _rounded(values)
    test = within(key, values, type, "spark")
    return f"({test} OR {key} IS NULL)" if lookup.nulls else test


def _rounded(ends: pa.Array) -> pa.Array:
    """The ends of a range, moved apart to numbers that are the same for ranges about as long and as far."""
    low, high = ends.to_pylist()
    grain, bits = 1 << max((high - low).bit_length() - 3, 0), ends.type.bit_width - 1
    outer = (max(low // grain * grain, -(1 << bits)), min((high // grain + 1) * grain, (1 << bits) - 1))
    return pa.array(outer, ends.type)


def _has_gaps(keys: pa.Array) -> bool:
    """Whether a few ranges around some numbers leave out half of what lies between the least and the greatest."""
    values = keys.sort().cast(pa.float64(), safe=False)
    gaps = pc.subtract(values[1:], values[:-1]).sort()
    return bool((pc.sum(gaps[-31:]).as_py() or 0) > (pc.sum(gaps).as_py() or 0) / 2)

"""What changes add up to: rows with signed counts, looked up by row or by key.

The net of a table's log since its base, and of what a transaction has done so far.  A commit asks for a handful of rows
or keys, so nothing here is ever gone through as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.row_values import row_keys
from tidings.ir import types
from tidings.ir.relation import Column

Row: TypeAlias = tuple[Any, ...]
"""A row as :func:`tidings.engine.row_values.row_keys` gives it: to be compared and hashed."""

Key: TypeAlias = tuple[Any, ...]
"""The values of a row's key columns, in the same form."""


@dataclass(slots=True)
class Net:
    """Signed counts of rows; those that cancel are gone."""

    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    counts: dict[Row, int] = field(default_factory=dict)
    _places: tuple[int, ...] = ()
    _by_key: dict[Key, set[Row]] = field(default_factory=dict)
    _plain: dict[Row, Row] = field(default_factory=dict)
    _wrapped: bool = False

    def __post_init__(self) -> None:
        names = [c.name for c in self.columns]
        self._places = tuple(names.index(k) for k in self.key)
        self._wrapped = any(types.is_nested(c.type) or c.type in ("float", "double") for c in self.columns)

    def __getitem__(self, row: Row) -> int:
        return self.counts.get(row, 0)

    def add(self, rows: pa.Table, weights: Iterable[int]) -> list[Row]:
        """Count changes; the rows, one for each."""
        keys = row_keys(rows)
        plain = values(rows) if self._wrapped else keys
        for row, weight, plain_row in zip(keys, weights, plain, strict=True):
            total = self.counts.get(row, 0) + weight
            if total:
                self.counts[row] = total
            else:
                self.counts.pop(row, None)
            if self._places:
                self._index(row, bool(total))
            if self._wrapped:
                self._plain[row] = plain_row
        return keys

    def _index(self, row: Row, present: bool) -> None:
        key = self.key_of(row)
        if present:
            self._by_key.setdefault(key, set()).add(row)
        elif key in self._by_key:
            self._by_key[key].discard(row)
            if not self._by_key[key]:
                del self._by_key[key]

    def key_of(self, row: Row) -> Key:
        """The key of a row."""
        return tuple(row[p] for p in self._places)

    def at(self, key: Key) -> dict[Row, int]:
        """The changes of rows with a key."""
        return {row: self.counts[row] for row in self._by_key.get(key, ())}

    def values_of(self, row: Row) -> Row:
        """The values of a row as they were added, not as they are hashed."""
        return self._plain[row] if self._wrapped else row


def values(rows: pa.Table) -> list[Row]:
    """Rows as tuples of Python values."""
    if not rows.num_columns:
        return [()] * rows.num_rows
    return list(zip(*(c.to_pylist() for c in rows.columns), strict=True))


def table_of(columns: tuple[Column, ...], rows: Iterable[Row]) -> pa.Table:
    """The inverse of :func:`values`.

    >>> table_of((Column("a", "int"),), [(1,), (None,)]).to_pylist()
    [{'a': 1}, {'a': None}]
    """
    schema = arrow_schema(columns)
    listed = list(rows)
    arrays = [pa.array([row[n] for row in listed], schema.field(n).type) for n in range(len(columns))]
    return pa.Table.from_arrays(arrays, schema=schema)

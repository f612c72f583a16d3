"""Small relations in memory: their base rows are read whole from the engine once, and serve all later lookups.

The tables that many queries join with, such as nations or categories, are small and hardly ever change.  Looking rows
up in them by key would take a round of lookups of its own each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.base_lookup import BaseLookup
from tidings.ir.relation import Column
from tidings.store.relation.table import Table

SMALL_RELATION = 20_000
"""A relation of up to so many rows is read whole."""


@dataclass(slots=True)
class SmallRelations:
    """The base rows of small relations, as far as they were read and fit."""

    limit: int
    """So many bytes are cached; what was used longest ago gives way."""
    _rows: dict[object, pa.Table] = field(init=False, default_factory=dict)
    """By the tokens of bases; the one used last stands last."""

    def forget(self) -> None:
        """Drop all rows."""
        self._rows.clear()

    def rows(self, table: Table, columns: tuple[Column, ...]) -> pa.Table | None:
        """The base rows of a table, if all these columns of them are cached."""
        rows = self._rows.get(table.base_token)
        if rows is None or not {c.name for c in columns}.issubset(rows.column_names):
            return None
        self._rows[table.base_token] = self._rows.pop(table.base_token)
        return rows

    def lookup(self, table: Table, columns: tuple[Column, ...]) -> BaseLookup:
        """The lookup that fetches what is asked for of a table now, and what is cached of it already."""
        assert table.base is not None
        table.require_base()
        cached = self._rows.get(table.base_token)
        names = {c.name for c in columns}.union([] if cached is None else cached.column_names)
        return BaseLookup(table.base, tuple(c for c in table.columns if c.name in names), None, pa.nulls(0), False)

    def add(self, table: Table, rows: pa.Table) -> None:
        """Cache the base rows of a table."""
        self._rows.pop(table.base_token, None)
        self._rows[table.base_token] = rows
        while sum(cached.nbytes for cached in self._rows.values()) > self.limit:
            del self._rows[next(iter(self._rows))]


def is_small(table: Table) -> bool:
    """Whether a table may be read whole."""
    return table.base_size <= SMALL_RELATION

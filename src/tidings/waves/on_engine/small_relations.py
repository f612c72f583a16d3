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

CACHED_RELATIONS = 50
"""So many small relations are cached; the one used longest ago gives way."""


@dataclass(slots=True)
class SmallRelations:
    """The base rows of small relations, as far as they were read."""

    _rows: dict[int, tuple[str, pa.Table]] = field(init=False, default_factory=dict)
    """By table: the base that the rows are of, and the rows; the one used last stands last."""

    def forget(self) -> None:
        """Drop all rows."""
        self._rows.clear()

    def rows(self, table: Table, columns: tuple[Column, ...]) -> pa.Table | None:
        """The base rows of a table, if all these columns of them are cached."""
        base, rows = self._rows.get(table.id, ("", None))
        if rows is None or base != table.base or not {c.name for c in columns}.issubset(rows.column_names):
            return None
        self._rows[table.id] = self._rows.pop(table.id)
        return rows

    def lookup(self, table: Table, columns: tuple[Column, ...]) -> BaseLookup:
        """The lookup that fetches what is asked for of a table now, and what is cached of it already."""
        base, rows = self._rows.get(table.id, ("", None))
        names = {c.name for c in columns}
        if rows is not None and base == table.base:
            names.update(rows.column_names)
        assert table.base is not None
        return BaseLookup(table.base, tuple(c for c in table.columns if c.name in names), None, pa.nulls(0), False)

    def add(self, table: Table, rows: pa.Table) -> None:
        """Cache the base rows of a table."""
        assert table.base is not None
        self._rows.pop(table.id, None)
        self._rows[table.id] = table.base, rows
        while len(self._rows) > CACHED_RELATIONS:
            del self._rows[next(iter(self._rows))]


def is_small(table: Table) -> bool:
    """Whether a table may be read whole."""
    return table.base_size <= SMALL_RELATION

"""The groupings that several views of one shape have stored, as one relation: each row with the number of its view.

Each view keeps its own rows, so that views may come and go; a wave that is for all of them reads these side by side.
That takes a pass over the references to them, and so they have to be in this process, and few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from tidings.engine.changes import as_changes
from tidings.engine.source import Source
from tidings.ir.relation import Column, Version
from tidings.rewrite.shapes import QUERY
from tidings.store.relation.small_states import base_at_hand
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.waves.shared import OneShape

ROWS_LIMIT = 100_000
"""Up to so many rows and logged changes may the groupings of one shape have together."""


@dataclass(frozen=True, slots=True)
class ShapeState:
    """One grouping of several views, stored by each of them."""

    storage: Storage
    tables: tuple[Table, ...]
    """The rows of each view, in the order of their numbers."""

    @property
    def rows(self) -> int:
        """About how many rows all of them have."""
        return sum(table.base_size + table.history.since_base() for table in self.tables)

    def source(self, version: Version, since: int, until: int) -> Source:
        """One version of all rows; without those of a batch, which none of the views has taken in."""
        assert version is not Version.DELTA, "the changes of groupings are computed by the wave"
        parts: list[pa.Table] = []
        numbers: list[pa.Array] = []
        for number, table in enumerate(self.tables):
            logged = table.source(version, since, until).changes
            assert isinstance(logged, pa.Table), "logs are in this process"
            parts += [self._base(table), logged]
            rows = parts[-2].num_rows + logged.num_rows
            numbers.append(pa.repeat(pa.scalar(number, pa.int32()), rows))
        changes = pa.concat_tables(parts).combine_chunks()
        changes = changes.add_column(0, QUERY, pa.concat_arrays(numbers))
        return Source((Column(QUERY, "int"), *self.tables[0].columns), None, changes)

    def _base(self, table: Table) -> pa.Table:
        rows = base_at_hand(table, self.storage.snapshots.files.get(table.id))
        assert rows is not None, "bases of few rows are in this process or in files"
        return as_changes(table.columns, rows)


def shape_states(storage: Storage, shape: OneShape) -> Mapping[str, ShapeState] | None:
    """The groupings of views of one shape; None if they have too many rows, or rows that are in the engine alone."""
    states: dict[str, ShapeState] = {}
    relations, files = storage.relations, storage.snapshots.files
    for name, stored in shape.stored.items():
        if relations.find(name) is not None:  # somebody has called a table so
            return None
        states[name] = ShapeState(storage, tuple(map(relations.rows, stored)))
    tables = [table for state in states.values() for table in state.tables]
    at_hand = all(t.base is None or t.base_rows is not None or t.id in files for t in tables)
    return states if at_hand and sum(state.rows for state in states.values()) <= ROWS_LIMIT else None

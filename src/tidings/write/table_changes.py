"""What a transaction has done to one table so far, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.constraints.enforce import NetChange
from tidings.engine.changes import added_up
from tidings.errors import UnknownTransactionState
from tidings.ir.relation import Column
from tidings.store.relation.net import Net
from tidings.store.relation.table import Table


@dataclass(slots=True)
class TableChanges:
    """The changes of one table in one transaction."""

    table: Table
    _columns: tuple[Column, ...] = field(init=False)
    _layout: int = field(init=False)
    _parts: list[tuple[pa.Table, int]] = field(init=False, default_factory=list)
    """The rows as they were given, part by part, each with its weight."""
    _net: Net | None = field(init=False, default=None)
    _counted: int = field(init=False, default=0)
    """So many parts are in the net."""
    _change: NetChange | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._columns, self._layout = self.table.columns, self.table.layout

    def add(self, rows: pa.Table, weight: int) -> None:
        """Add rows of the table's schema with a positive or negative weight."""
        self._parts.append((rows, weight))
        self._change = None

    @property
    def net(self) -> Net:
        """The changes so far, to be looked up by row or key; made when somebody asks, since it has rows in Python."""
        if self._net is None:
            self._net = Net(self._columns, self.table.constraints.key)
        for rows, weight in self._parts[self._counted :]:
            self._net.add(rows, [weight] * rows.num_rows)
        self._counted = len(self._parts)
        return self._net

    def net_change(self) -> NetChange:
        """The net change; refused if the table has been altered since the first change."""
        if (self._columns, self._layout) != (self.table.columns, self.table.layout):
            raise UnknownTransactionState(reason=f"{self.table.name} was altered while it was open")
        if self._change is None:
            self._change = self._added_up()
        return self._change

    def _added_up(self) -> NetChange:
        rows = pa.concat_tables(rows for rows, _ in self._parts)
        sizes = [(part.num_rows, weight) for part, weight in self._parts]
        weights = pa.chunked_array([pa.repeat(pa.scalar(weight, pa.int64()), size) for size, weight in sizes])
        places, totals = added_up(rows, weights)
        numbers: tuple[int, ...] = ()
        if len(sizes) > 1 or len(places) < rows.num_rows:
            in_parts = pa.chunked_array([pa.arange(1, size + 1) for size, _ in sizes], pa.int64())
            numbers = tuple(in_parts.take(places).to_pylist())
        return NetChange(self.table, rows.take(places), totals.to_pylist(), numbers)

"""What a transaction has done to one table so far, netted as it comes."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from tidings.constraints.enforce import NetChange
from tidings.errors import UnknownTransactionState
from tidings.store.relation.net import Net, Row
from tidings.store.relation.table import Table


@dataclass(slots=True)
class TableChanges:
    """The changes of one table in one transaction."""

    table: Table
    net: Net = field(init=False)
    _parts: list[pa.Table] = field(init=False, default_factory=list)
    """The rows as they were given, part by part."""
    _first_place: dict[Row, int] = field(init=False, default_factory=dict)
    """Where each row stands among the parts for the first time."""
    _row_numbers: list[int] = field(init=False, default_factory=list)
    """The number of each row in its own part, for messages."""

    def __post_init__(self) -> None:
        self.net = Net(self.table.columns, self.table.constraints.key)

    def add(self, rows: pa.Table, weight: int) -> None:
        """Add rows of the table's schema with a positive or negative weight."""
        start = len(self._row_numbers)
        self._parts.append(rows)
        self._row_numbers.extend(range(1, rows.num_rows + 1))
        for n, row in enumerate(self.net.add(rows, [weight] * rows.num_rows)):
            self._first_place.setdefault(row, start + n)

    def net_change(self) -> NetChange:
        """The net change; refused if the table has been altered since the first change."""
        if self.net.columns != self.table.columns:
            raise UnknownTransactionState(reason=f"{self.table.name} was altered while it was open")
        places = [self._first_place[row] for row in self.net.counts]
        rows = pa.concat_tables(self._parts).take(pa.array(places, pa.int64()))
        numbers = tuple(self._row_numbers[p] for p in places)
        return NetChange(self.table, rows, list(self.net.counts.values()), numbers)

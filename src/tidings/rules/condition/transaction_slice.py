"""A slice of a transaction: what was done before it, and what was done in it, each netted.

A rule is judged over the slice since it last ran, or since the transaction began.  A row that comes and goes within a
slice is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.changes import consolidated
from tidings.store.relation.table import Table
from tidings.write.workspace import DoneChange

NetEntries = dict[str, pa.Table]
"""Net changes by table, in the form of log entries."""


@dataclass(slots=True)
class TransactionSlice:
    """What was done from one place in a transaction to another."""

    done: Sequence[DoneChange]
    """What the transaction has done, in order."""
    start: int
    end: int
    at: int
    """The last commit before the transaction."""
    _before: NetEntries | None = field(init=False, default=None)
    _changes: NetEntries | None = field(init=False, default=None)

    @staticmethod
    def of_entries(at: int, before: NetEntries, changes: NetEntries, end: int = 0) -> TransactionSlice:
        """A slice whose net changes are known already."""
        tx_slice = TransactionSlice((), 0, end, at)
        tx_slice._before, tx_slice._changes = before, changes
        return tx_slice

    @property
    def before(self) -> NetEntries:
        """What the transaction had done before the slice."""
        if self._before is None:
            self._before = net(self.done[: self.start], 0)
        return self._before

    @property
    def changes(self) -> NetEntries:
        """What was done in the slice."""
        if self._changes is None:
            self._changes = net(self.done[self.start : self.end], self.at + 1)
        return self._changes


def net(done: Sequence[DoneChange], time: int) -> NetEntries:
    """The net changes of what has been done, at an instant; tables without any are left out."""
    tables: dict[str, Table] = {}
    parts: dict[str, list[tuple[pa.Table, int]]] = {}
    for table, rows, weight in done:
        tables[table.name] = table
        parts.setdefault(table.name, []).append((rows, weight))
    entries: NetEntries = {}
    for name, weighted in parts.items():
        rows = pa.concat_tables(rows for rows, _ in weighted)
        weights = [weight for rows, weight in weighted for _ in range(rows.num_rows)]
        entry = consolidated(tables[name].columns, rows, weights, time)
        if entry.num_rows:
            entries[name] = entry
    return entries

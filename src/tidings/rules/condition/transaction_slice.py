"""A stretch of a transaction: what was done before it, and what was done in it, each netted.

A rule is judged over the stretch since it last ran, or since the transaction began.  What comes and goes within a
stretch is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.changes import consolidated
from tidings.store.relation.table import Table

Done = Sequence[tuple[Table, pa.Table, int]]
"""What a transaction has done, in order: rows of tables that came (1) or went (-1)."""

NetEntries = dict[str, pa.Table]
"""Net changes by table, as they would stand in the log."""


@dataclass(slots=True)
class TransactionSlice:
    """What was done from one place in a transaction to another."""

    done: Done
    start: int
    end: int
    at: int
    """The last commit before the transaction."""
    _before: NetEntries | None = field(default=None)
    _changes: NetEntries | None = field(default=None)

    @property
    def before(self) -> NetEntries:
        """What the transaction had done before."""
        if self._before is None:
            self._before = net(self.done[: self.start], 0)
        return self._before

    @property
    def changes(self) -> NetEntries:
        """What was done in it."""
        if self._changes is None:
            self._changes = net(self.done[self.start : self.end], self.at + 1)
        return self._changes


def net(done: Done, time: int) -> NetEntries:
    """What has been done adds up to; tables with nothing left are left out."""
    tables: dict[str, Table] = {}
    parts: dict[str, list[tuple[pa.Table, int]]] = {}
    for table, rows, weight in done:
        tables[table.name] = table
        parts.setdefault(table.name, []).append((rows, weight))
    found: NetEntries = {}
    for name, listed in parts.items():
        rows = pa.concat_tables(r for r, _ in listed)
        weights = [w for r, w in listed for _ in range(r.num_rows)]
        entry = consolidated(tables[name].columns, rows, weights, time)
        if entry.num_rows:
            found[name] = entry
    return found

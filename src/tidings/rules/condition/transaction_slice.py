"""A stretch of a transaction: what was done before it, and what was done in it, each netted.

A rule is judged over the stretch since it last ran, or since the transaction began.  What comes and goes within a
stretch is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.plain import row_keys
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column
from tidings.store.relation.table import Table
from tidings.write.transaction import as_entry

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


def consolidated(columns: tuple[Column, ...], rows: pa.Table, weights: list[int], time: int) -> pa.Table:
    """Rows with weights as a log entry: each row once, none whose weights cancel."""
    totals: dict[object, int] = {}
    first: dict[object, int] = {}
    for place, (row, weight) in enumerate(zip(row_keys(rows), weights, strict=True)):
        totals[row] = totals.get(row, 0) + weight
        first.setdefault(row, place)
    kept = [row for row, total in totals.items() if total]
    taken = rows.take(pa.array([first[row] for row in kept], pa.int64()))
    return as_entry(columns, taken, [totals[row] for row in kept], time)


def part(entry: pa.Table, sign: int) -> pa.Table:
    """The changes of a log entry that came (1) or went (-1)."""
    weights = entry.column(WEIGHT)
    return entry.filter(pc.greater(weights, 0) if sign > 0 else pc.less(weights, 0))


def repeated(entry: pa.Table, sign: int) -> pa.Table:
    """The rows that came (1) or went (-1), each as often as it did."""
    found = part(entry, sign)
    places = [n for n, weight in enumerate(found.column(WEIGHT).to_pylist()) for _ in range(abs(weight))]
    return found.drop_columns([TIME, WEIGHT]).take(pa.array(places, pa.int64()))


def most(columns: tuple[Column, ...], one: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of two bags, each as often as it is in the one that has it more often."""
    both = pa.concat_tables([other, one])
    missing = consolidated(columns, both, [1] * other.num_rows + [-1] * one.num_rows, 0)
    return pa.concat_tables([one, repeated(missing, 1)])


def paired(entry: pa.Table, columns: tuple[Column, ...], key: tuple[str, ...]) -> list[tuple[int | None, int | None]]:
    """Places of rows in a log entry: what went beside what came in its stead, by key; None where there is nothing.

    Where a key has several rows they are paired in the order of their values, whatever order they came in.
    """
    old: dict[object, list[int]] = {}
    new: dict[object, list[int]] = {}
    names = [c.name for c in columns]
    places = [names.index(k) for k in key] if key else range(len(names))
    rows = row_keys(entry.drop_columns([TIME, WEIGHT]))
    for n, (row, weight) in enumerate(zip(rows, entry.column(WEIGHT).to_pylist(), strict=True)):
        kept = old if weight < 0 else new
        kept.setdefault(tuple(row[p] for p in places), []).extend([n] * abs(weight))
    found: list[tuple[int | None, int | None]] = []
    for value in dict.fromkeys([*old, *new]):
        went, came = (sorted(side.get(value, []), key=lambda n: repr(rows[n])) for side in (old, new))
        for n in range(max(len(went), len(came))):
            found.append((went[n] if n < len(went) else None, came[n] if n < len(came) else None))
    return found

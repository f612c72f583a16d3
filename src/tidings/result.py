"""What Tidings answers: the rows of a query, and the changes of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table as Grid

from tidings.clock import instant
from tidings.engine.changes import added_up, paired, versioned, without_version
from tidings.ir.expression import TIME, WEIGHT

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query."""

    _table: pa.Table

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def rows(self) -> list[Row]:
        """The rows as dictionaries, in no particular order."""
        return list(self._table.to_pylist())

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        return self._table.to_pandas()

    def show(self, limit: int = 20) -> None:
        """Print the first rows as a table."""
        _print(self.columns, [list(r.values()) for r in self._table.slice(0, limit).to_pylist()])
        if self._table.num_rows > limit:
            print(f"… {self._table.num_rows - limit} more rows")

    def __len__(self) -> int:
        return int(self._table.num_rows)


class Change(NamedTuple):
    """One entry of a delta: at ``time`` the row came (``weight`` times) or went (``-weight`` times)."""

    row: Row
    time: int
    weight: int


class Pair(NamedTuple):
    """What a key stood for before and after a change; None where there was nothing."""

    old: Row | None
    new: Row | None
    time: int


@dataclass(frozen=True, slots=True)
class Delta:
    """The exact changes of a query's answer over an interval, one entry per row and instant."""

    _table: pa.Table

    @property
    def columns(self) -> list[str]:
        return [c for c in self._table.column_names if c not in (TIME, WEIGHT)]

    def rows(self) -> list[Change]:
        """All changes in the order of their instants, what goes before what comes."""
        entries = self._table.to_pylist()
        changes = [Change(r, time, weight) for r in entries for time, weight in [(r.pop(TIME), r.pop(WEIGHT))]]
        return sorted(changes, key=lambda c: (c.time, c.weight > 0, repr(c.row)))

    def additions(self) -> list[Row]:
        """The rows that came, each as often as it did."""
        return [c.row for c in self.rows() for _ in range(c.weight)]

    def removals(self) -> list[Row]:
        """The rows that went, each as often as it did."""
        return [c.row for c in self.rows() for _ in range(-c.weight)]

    def net(self) -> Delta:
        """The changes with all instants folded into the last one: what lies between two states."""
        last = pc.max(self._table.column(TIME)).as_py() if self._table.num_rows else 0
        rows = without_version(self._table)
        places, totals = added_up(rows, self._table.column(WEIGHT).to_pylist())
        return Delta(versioned(rows.take(pa.array(places, pa.int64())), last, totals).cast(self._table.schema))

    def paired(self, *key: str) -> list[Pair]:
        """Old and new values side by side, for rows that agree on the key at one instant; the oldest first."""
        changes = self.rows()
        entries = [{**c.row, TIME: c.time, WEIGHT: c.weight} for c in changes]
        ordered = pa.Table.from_pylist(entries, schema=self._table.schema)
        pairs = paired(ordered, key or self.columns, per_instant=True)

        def row(place: int | None) -> Row | None:
            return None if place is None else changes[place].row

        times = (next(changes[place].time for place in pair if place is not None) for pair in pairs)
        return [Pair(row(old), row(new), time) for (old, new), time in zip(pairs, times, strict=True)]

    def to_arrow(self) -> pa.Table:
        """The changes with their instants in ``__t`` and their weights in ``__w``."""
        return self._table

    def show(self) -> None:
        """Print the changes, oldest first."""
        _print(
            ["when", "", *self.columns],
            [[f"{instant(c.time):%Y-%m-%d %H:%M:%S.%f}", f"{c.weight:+d}", *c.row.values()] for c in self.rows()],
        )

    def __len__(self) -> int:
        return int(self._table.num_rows)


def _print(header: list[str], rows: list[list[Any]]) -> None:
    grid = Grid(*header)
    for row in rows:
        grid.add_row(*("NULL" if v is None else str(v) for v in row))
    Console().print(grid)

"""A table in memory: a base the engine holds, and a log of what transactions changed since.

The state at an instant is the base plus the log up to it; earlier states are a filter on time, never a copy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.plain import row_keys
from tidings.engine.source import Source
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column, Version


@dataclass(slots=True)
class Table:
    """One table's columns, base and log."""

    name: str
    columns: tuple[Column, ...]
    base: str | None = None
    base_size: int = 0
    _times: list[int] = field(default_factory=list)
    _entries: list[pa.Table] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    _losses: list[int] = field(default_factory=list)
    _net: Counter[Any] = field(default_factory=Counter)
    _sources: dict[tuple[int, int, bool], Source] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.columns)

    def rest_on(self, base: str, size: int) -> None:
        """Take what the engine holds under a name as the rows that were there before any transaction."""
        self.base, self.base_size = base, size
        self._sources.clear()

    def append(self, time: int, rows: pa.Table, weights: list[int]) -> None:
        """Log one transaction's net changes, at a time after all others."""
        entry = rows.append_column(TIME, pa.array([time] * rows.num_rows, pa.int64()))
        entry = entry.append_column(WEIGHT, pa.array(weights, pa.int64()))
        self._times.append(time)
        self._entries.append(entry.cast(arrow_schema(self.columns, versioned=True)))
        self._sizes.append((self._sizes[-1] if self._sizes else 0) + sum(weights))
        if any(w < 0 for w in weights):
            self._losses.append(time)
        for row, weight in zip(row_keys(rows), weights, strict=True):
            self._net[row] += weight

    def logged(self, row: Any) -> int:
        """How often the log adds a row, net; negative if it takes rows of the base."""
        return self._net[row]

    def changed(self, since: int, until: int) -> bool:
        """Whether any transaction in ``(since, until]`` touched the table."""
        return bisect_right(self._times, since) < bisect_right(self._times, until)

    def times(self, since: int, until: int) -> list[int]:
        """The instants in ``(since, until]`` at which the table changed."""
        return self._times[bisect_right(self._times, since) : bisect_right(self._times, until)]

    def take(self, delta: pa.Table) -> None:
        """Log changes that carry instants and weights of their own."""
        for time in sorted(set(delta.column(TIME).to_pylist())):
            entry = delta.filter(pc.equal(delta.column(TIME), time))
            self.append(time, entry.drop_columns([TIME, WEIGHT]), entry.column(WEIGHT).to_pylist())

    def size(self, at: int) -> int:
        """The number of rows at an instant."""
        logged = bisect_right(self._times, at)
        return self.base_size + (self._sizes[logged - 1] if logged else 0)

    def change_count(self, since: int, until: int) -> int:
        """The number of changed rows in ``(since, until]``."""
        return sum(
            e.num_rows for e in self._entries[bisect_right(self._times, since) : bisect_right(self._times, until)]
        )

    def only_grows(self, since: int, until: int) -> bool:
        """Whether no row went in ``(since, until]``."""
        return bisect_right(self._losses, since) == bisect_right(self._losses, until)

    def source(self, version: Version, since: int, until: int) -> Source:
        """One version of the table, for a batch over ``(since, until]``."""
        first = bisect_right(self._times, since) if version is Version.DELTA else 0
        last = bisect_right(self._times, since if version is Version.OLD else until)
        with_base = version is not Version.DELTA
        key = (first, last, with_base)
        if key not in self._sources:
            if len(self._sources) > 16:
                self._sources.clear()
            entries = self._entries[first:last]
            changes = pa.concat_tables(entries) if entries else arrow_schema(self.columns, versioned=True).empty_table()
            self._sources[key] = Source(self.columns, self.base if with_base else None, changes)
        return self._sources[key]

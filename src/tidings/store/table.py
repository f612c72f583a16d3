"""A table: a base, and a log of what transactions changed.

The base is the state at one instant, held by the engine or in snapshot files.  The state at any other instant is the
base with the log entries in between, or, for an earlier one, with those entries inverted: never a copy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tidings.engine.arrow import arrow_schema
from tidings.engine.plain import row_keys
from tidings.engine.source import Source
from tidings.errors import HistoryGone
from tidings.ir.expression import TIME, WEIGHT
from tidings.ir.relation import Column, Version
from tidings.store.constraints import NONE, Constraints

Load = Callable[[int, int], list[pa.Table]]
"""The rows of log entries in ``(after, until]``, one table per entry."""

Stretch: TypeAlias = tuple[str, int, int]
"""Log entries by their numbers, as they are (``log``) or undone (``inverted``)."""


@dataclass(slots=True)
class Table:
    """One table's columns, base and log."""

    name: str
    columns: tuple[Column, ...]
    base: str | None = None
    base_size: int = 0
    base_time: int = 0
    constraints: Constraints = NONE
    id: int = 0
    load: Load | None = None
    forgotten: int = 0
    """The log reaches back to this instant; earlier states are gone."""
    _times: list[int] = field(default_factory=list)
    _entries: list[pa.Table | None] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)
    _growth: list[int] = field(default_factory=lambda: [0])
    _losses: list[int] = field(default_factory=list)
    _net: Counter[Any] | None = None
    _sources: dict[tuple[Any, ...], Source] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.columns)

    @property
    def key_column(self) -> str:
        """The column its base is sorted by."""
        return self.constraints.key[0] if self.constraints.key else self.columns[0].name

    def rest_on(self, base: str | None, size: int, time: int = 0) -> None:
        """Take what the engine holds under a name as the rows at an instant, before any transaction unless told."""
        self.base, self.base_size, self.base_time = base, size, time
        self._net = None
        self._sources.clear()

    # the log

    def restore(self, logged: list[tuple[int, int, int, bool]], load: Load) -> None:
        """Know of log entries as ``(time, rows, growth, loses)``; their rows are loaded when they are needed."""
        self.load = load
        for time, count, growth, loses in logged:
            self._note(time, None, count, growth, loses)

    def entry(self, time: int, rows: pa.Table, weights: list[int]) -> pa.Table:
        """A log entry of some changes at an instant, not logged yet."""
        entry = rows.append_column(TIME, pa.array([time] * rows.num_rows, pa.int64()))
        entry = entry.append_column(WEIGHT, pa.array(weights, pa.int64()))
        return entry.cast(arrow_schema(self.columns, versioned=True))

    def log(self, time: int, entry: pa.Table) -> None:
        """Log an entry, at a time after all others."""
        weights = entry.column(WEIGHT).to_pylist()
        self._note(time, entry, len(weights), sum(weights), any(w < 0 for w in weights))
        if self._net is not None:
            self._count(self._net, entry)

    def append(self, time: int, rows: pa.Table, weights: list[int]) -> None:
        """Log one transaction's net changes."""
        self.log(time, self.entry(time, rows, weights))

    def take(self, delta: pa.Table) -> None:
        """Log changes that carry instants and weights of their own."""
        for time, entry in by_instant(delta):
            self.log(time, entry.cast(arrow_schema(self.columns, versioned=True)))

    def forget(self, before: int) -> None:
        """Forget log entries that the base holds and that are older than an instant."""
        last = min(self._at(before), self._at(self.base_time))
        if last:
            self.forgotten = self._times[last - 1]
            self._losses = [t for t in self._losses if t > self.forgotten]
            start = self._growth[last]
            self._times, self._entries, self._counts = self._times[last:], self._entries[last:], self._counts[last:]
            self._growth = [g - start for g in self._growth[last:]]
            self._sources.clear()

    def _note(self, time: int, entry: pa.Table | None, count: int, growth: int, loses: bool) -> None:
        self._times.append(time)
        self._entries.append(entry)
        self._counts.append(count)
        self._growth.append(self._growth[-1] + growth)
        if loses:
            self._losses.append(time)

    def _at(self, instant: int) -> int:
        """The number of entries up to an instant."""
        return bisect_right(self._times, instant)

    def _loaded(self, first: int, last: int) -> list[pa.Table]:
        missing = [n for n in range(first, last) if self._entries[n] is None]
        if missing:
            assert self.load is not None, "only logged entries are loaded"
            low, high = missing[0], missing[-1]
            found = self.load(self._times[low] - 1, self._times[high])
            schema = arrow_schema(self.columns, versioned=True)
            self._entries[low : high + 1] = [entry.cast(schema) for entry in found]
        return [e for e in self._entries[first:last] if e is not None]

    # what is known about it

    def logged(self, row: Any) -> int:
        """How often the log adds a row to the base, net; negative if it takes rows of the base."""
        return self.net[row]

    @property
    def net(self) -> Counter[Any]:
        """What the log after the base adds, as rows with signed counts."""
        if self._net is None:
            self._net = Counter()
            for entry in self._loaded(self._at(self.base_time), len(self._times)):
                self._count(self._net, entry)
        return self._net

    def _count(self, net: Counter[Any], entry: pa.Table) -> None:
        rows = entry.drop_columns([TIME, WEIGHT])
        for row, weight in zip(row_keys(rows), entry.column(WEIGHT).to_pylist(), strict=True):
            net[row] += weight
            if not net[row]:
                del net[row]

    def changed(self, since: int, until: int) -> bool:
        """Whether any transaction in ``(since, until]`` touched the table."""
        return self._at(since) < self._at(until)

    def times(self, since: int, until: int) -> list[int]:
        """The instants in ``(since, until]`` at which the table changed."""
        return self._times[self._at(since) : self._at(until)]

    def size(self, at: int) -> int:
        """The number of rows at an instant."""
        return self.base_size + self._growth[self._at(at)] - self._growth[self._at(self.base_time)]

    def change_count(self, since: int, until: int) -> int:
        """The number of changed rows in ``(since, until]``."""
        return sum(self._counts[self._at(since) : self._at(until)])

    def since_base(self) -> int:
        """The number of changed rows that are not in the base."""
        return sum(self._counts[self._at(self.base_time) :])

    def only_grows(self, since: int, until: int) -> bool:
        """Whether no row went in ``(since, until]``."""
        return bisect_right(self._losses, since) == bisect_right(self._losses, until)

    # versions

    def source(self, version: Version, since: int, until: int) -> Source:
        """One version of the table, for a batch over ``(since, until]``."""
        wanted = self._wanted(version, since, until)
        key = (version is Version.DELTA, *wanted)
        if key not in self._sources:
            if len(self._sources) > 16:
                self._sources.clear()
            parts = [part for w in wanted for part in self._changes(*w)]
            changes = pa.concat_tables(parts) if parts else arrow_schema(self.columns, versioned=True).empty_table()
            self._sources[key] = Source(self.columns, None if version is Version.DELTA else self.base, changes)
        return self._sources[key]

    def _wanted(self, version: Version, since: int, until: int) -> list[Stretch]:
        """The stretches of the log that a version consists of, beside the base."""
        inside = ("log", self._at(since), self._at(until))
        match version:
            case Version.DELTA:
                return [inside]
            case Version.OLD:
                return [self._from_base(since)]
            case Version.NEW:
                kind, first, last = self._from_base(since)
                return [(kind, first, inside[2])] if kind == "log" else [(kind, first, last), inside]
            case Version.CURRENT:
                return [self._from_base(until)]
            case _:
                assert_never(version)

    def _from_base(self, at: int) -> Stretch:
        """What leads from the base to the state at an instant."""
        if at < self.forgotten:
            raise HistoryGone(table=self.name, at=at, since=self.forgotten)
        here, there = self._at(self.base_time), self._at(at)
        return ("log", here, there) if there >= here else ("inverted", there, here)

    def _changes(self, kind: str, first: int, last: int) -> list[pa.Table]:
        entries = self._loaded(first, last)
        return entries if kind == "log" else [_inverted(e) for e in entries]


def by_instant(delta: pa.Table) -> list[tuple[int, pa.Table]]:
    """A delta's changes by their instants, in order."""
    times = delta.column(TIME)
    return [(t, delta.filter(pc.equal(times, t))) for t in sorted(set(times.to_pylist()))]


def _inverted(entry: pa.Table) -> pa.Table:
    """An entry undone, as part of a state from before the batch."""
    place, weight = entry.schema.get_field_index(TIME), entry.schema.get_field_index(WEIGHT)
    before = pa.array([0] * entry.num_rows, pa.int64())
    undone = entry.set_column(place, entry.schema.field(place), before)
    return undone.set_column(weight, entry.schema.field(weight), pc.negate(entry.column(WEIGHT)))

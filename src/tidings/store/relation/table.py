"""A table: a base, and a log of what transactions changed.

The base is the state at one instant, held by the engine or in snapshot files.  The state at any other instant is the
base with the log entries in between, or, for an earlier one, with those entries inverted: never a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, inverted, without_version
from tidings.engine.source import Source
from tidings.errors import HistoryGone, TidingsError
from tidings.ir import types
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column, Version
from tidings.store.relation.constraints import NONE, Constraints
from tidings.store.relation.log import EntryFacts, Load, Log, Place, in_order, span
from tidings.store.relation.net import Net
from tidings.store.relation.schema_evolution import added_values, with_current_columns

LogRange: TypeAlias = tuple[str, Place, Place]
"""A part of the log, as it is (``log``) or undone (``inverted``)."""

CHUNKS = 200
"""Entries are kept apart up to this number, then copied into one."""


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
    sorted_by: str = ""
    """The column its base was asked to be sorted by."""
    role: str = "table"
    """What it is to users: a ``table``, an ``event`` with a row per signal, or the ``activations`` of a rule."""
    damage: TidingsError | None = None
    """Why its rows cannot be read."""
    _log: Log = field(default_factory=Log)
    _net: Net | None = None
    _sources: dict[tuple[Any, ...], Source] = field(default_factory=dict)
    _joined: tuple[Place, Place, pa.Table] | None = None

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.columns)

    @property
    def lookup_column(self) -> str:
        """The column its rows are looked up by; none if all are nested."""
        nested = {c.name for c in self.columns if types.is_nested(c.type)}
        return "" if self.key_column in nested else self.key_column

    @property
    def key_column(self) -> str:
        """The column its rows are in the order of, unless told otherwise; maps have no order."""
        if self.constraints.key:
            return self.constraints.key[0]
        plain = (c.name for c in self.columns if not types.is_nested(c.type))
        return next(plain, self.columns[0].name)

    @property
    def sort_column(self) -> str:
        """The column its base is sorted by."""
        return self.sorted_by if any(c.name == self.sorted_by for c in self.columns) else self.key_column

    def set_base(self, base: str | None, size: int, time: int = 0) -> None:
        """Take what the engine holds under a name as the rows at an instant, before any transaction unless told."""
        self.base, self.base_size, self.base_time = base, size, time
        self._log.release(time)
        self._net = None
        self._clear()

    def _clear(self) -> None:
        self._sources.clear()
        self._joined = None

    def _require_sound(self) -> None:
        if self.damage is not None:
            raise self.damage

    # the log

    def restore(self, logged: Iterable[EntryFacts], load: Load | None, forgotten: int = 0) -> None:
        """Know of log entries; their rows are loaded when they are needed."""
        self._log = Log(forgotten=forgotten)
        self.load_entries_by(load)
        for facts in logged:
            self._log.add(facts, None)

    def learn(self, logged: Iterable[EntryFacts]) -> None:
        """Know of more log entries, after all others."""
        for facts in logged:
            self._log.learn(facts)
            self._net = None
            self._clear()

    def load_entries_by(self, load: Load | None) -> None:
        """Let the rows of log entries be loaded from where they are recorded, if they are anywhere."""
        if self._log.load is None and load is not None:
            self._log.load = lambda after, until: list(map(self._completed, load(after, until)))

    def _completed(self, entry: pa.Table) -> pa.Table:
        """A log entry with the columns the table has now."""
        return with_current_columns(entry, self.columns, self.added_values).cast(self._versioned)

    @property
    def added_values(self) -> dict[str, pa.Scalar]:
        """What rows have in columns that were added after them."""
        return added_values(self.columns, self.constraints.added)

    def alter(self, name: str, columns: tuple[Column, ...], constraints: Constraints) -> None:
        """Have another name, other names of columns, or more columns."""
        self.name, self.columns, self.constraints = name, columns, constraints
        self._log.rewrite(self._completed)
        self._net = None
        self._clear()

    @property
    def _versioned(self) -> pa.Schema:
        return arrow_schema(self.columns, versioned=True)

    def entry(self, time: int, rows: pa.Table, weights: list[int]) -> pa.Table:
        """A log entry of some changes at an instant, not logged yet."""
        self._require_sound()
        return as_changes(self.columns, rows, weights, time)

    def spanning(self, delta: pa.Table) -> pa.Table:
        """A log entry of changes that carry instants and weights of their own, not logged yet."""
        self._require_sound()
        return in_order(delta.cast(self._versioned))

    def log(self, time: int, entry: pa.Table, first: int | None = None) -> None:
        """Log an entry after all others; from ``first`` to ``time`` if it is not of one instant."""
        self._log.add(EntryFacts.of(entry, time if first is None else first, time), entry)
        if self._net is not None:
            self._count(self._net, entry)

    def append(self, time: int, rows: pa.Table, weights: list[int]) -> None:
        """Log one transaction's net changes."""
        self.log(time, self.entry(time, rows, weights))

    def take(self, delta: pa.Table) -> None:
        """Log changes that carry instants and weights of their own, as one entry."""
        if delta.num_rows:
            entry = self.spanning(delta)
            first, last = span(entry)
            self.log(last, entry, first)

    def merge_entries(self, since: int) -> None:
        """Take the entries between an earlier base and the present one as one, as the catalog does."""
        self._log.merge(since, self.base_time)
        self._clear()

    def entries(self) -> int:
        """The number of log entries that are not in the base."""
        return self._log.end[0] - self._log.place(self.base_time)[0]

    def mark(self) -> int:
        """Where the log ends, to go back to."""
        return self._log.end[0]

    def back_to(self, mark: int) -> None:
        """Undo what was logged after a mark: the catalog did not take it."""
        self._log.cut(mark)
        self._net = None
        self._clear()

    def forget(self, before: int) -> bool:
        """Forget log entries that the base holds and that are not after an instant; whether there were any."""
        found = self._log.forget(min(before, self.base_time))
        if found:
            self._clear()
        return found

    def horizon(self, before: int) -> int | None:
        """Up to when its log would be forgotten; None if nothing would be."""
        return self._log.horizon(min(before, self.base_time))

    @property
    def forgotten(self) -> int:
        """The log reaches back to this instant; earlier states are gone."""
        return self._log.forgotten

    @property
    def last(self) -> int:
        """The last instant at which it changed, as far as the log knows; that of its base if it did not."""
        found = self._log.last
        return self.base_time if found is None else max(found, self.base_time)

    def unfolded(self) -> Callable[[], list[pa.Table]]:
        """How to get the entries after the base, from any thread: what is not in memory is loaded."""
        start, until, load = self.base_time + 1, self.last, self._log.load
        found = self._log.at_hand(self._log.place(self.base_time), self._log.end)
        if found is not None:
            return lambda: found
        assert load is not None, "what is nowhere else is in memory"
        return lambda: load(start, until)

    # what is known about it

    def logged(self, row: Any) -> int:
        """How often the log adds a row to the base, net; negative if it takes rows of the base."""
        return self.net[row]

    @property
    def net(self) -> Net:
        """What the log after the base adds, as rows with signed counts."""
        self._require_sound()
        if self._net is None:
            self._net = Net(self.columns, self.constraints.key)
            for entry in self._log.rows(self._log.place(self.base_time), self._log.end):
                self._count(self._net, entry)
        return self._net

    def _count(self, net: Net, entry: pa.Table) -> None:
        net.add(without_version(entry), entry.column(WEIGHT).to_pylist())

    def _at(self, instant: int) -> Place:
        """Where the log stands at an instant that it must reach back to."""
        if self.forgotten and instant < self.forgotten:
            raise HistoryGone(table=self.name, at=instant, since=self.forgotten)
        return self._log.place(instant)

    def changed(self, since: int, until: int) -> bool:
        """Whether any transaction in ``(since, until]`` touched the table."""
        return self._at(since) < self._at(until)

    def times(self, since: int, until: int) -> list[int]:
        """The instants in ``(since, until]`` at which the table changed."""
        found: list[int] = self.instants(since, until).to_pylist()
        return found

    def instants(self, since: int, until: int) -> pa.Array:
        """The same, where they may be many."""
        return self._log.instants(self._at(since), self._at(until))

    def size(self, at: int) -> int:
        """The number of rows at an instant."""
        return self.base_size + self._log.growth(self._at(self.base_time), self._at(at))

    def change_count(self, since: int, until: int) -> int:
        """The number of changed rows in ``(since, until]``."""
        return self._log.count(self._at(since), self._at(until))

    def since_base(self) -> int:
        """The number of changed rows that are not in the base."""
        return self._log.count(self._log.place(self.base_time), self._log.end)

    def only_grows(self, since: int, until: int) -> bool:
        """Whether no row went in ``(since, until]``."""
        return self._log.only_grows(self._at(since), self._at(until))

    # versions

    def source(self, version: Version, since: int, until: int) -> Source:
        """One version of the table, for a batch over ``(since, until]``."""
        self._require_sound()
        wanted = self._wanted(version, since, until)
        key = (version is Version.DELTA, *wanted)
        if key not in self._sources:
            if len(self._sources) > 16:
                self._sources.clear()
            changes = self._together([part for w in wanted for part in self._changes(*w)])
            self._sources[key] = Source(self.columns, None if version is Version.DELTA else self.base, changes)
        return self._sources[key]

    def _wanted(self, version: Version, since: int, until: int) -> list[LogRange]:
        """The stretches of the log that a version consists of, beside the base."""
        match version:
            case Version.DELTA:
                return [("log", self._at(since), self._at(until))]
            case Version.OLD:
                return [self._from_base(since)]
            case Version.NEW:
                kind, first, last = self._from_base(since)
                inside = ("log", self._at(since), self._at(until))
                return [(kind, first, inside[2])] if kind == "log" else [(kind, first, last), inside]
            case Version.CURRENT:
                return [self._from_base(until)]
            case _:
                assert_never(version)

    def _from_base(self, at: int) -> LogRange:
        """What leads from the base to the state at an instant."""
        here, there = self._at(self.base_time), self._at(at)
        return ("log", here, there) if there >= here else ("inverted", there, here)

    def _changes(self, kind: str, first: Place, last: Place) -> list[pa.Table]:
        if kind == "inverted":
            return [inverted(e) for e in self._log.rows(first, last)]
        if first != self._log.place(self.base_time):
            return self._log.rows(first, last)
        return [self._grown(first, last)]

    def _grown(self, first: Place, last: Place) -> pa.Table:
        """What the log adds to the base, built on what was asked for last: history grows at its end."""
        rows, reached = [], first
        if self._joined is not None and self._joined[0] == first and self._joined[1] <= last:
            rows, reached = [self._joined[2]], self._joined[1]
        joined = self._together([*rows, *self._log.rows(reached, last)])
        if self._joined is None or self._joined[0] != first or self._joined[1] <= last:
            self._joined = (first, last, joined)
        return joined

    def _together(self, parts: list[pa.Table]) -> pa.Table:
        """Parts as one table; engines are slow to read one of very many pieces."""
        if not parts:
            return self._versioned.empty_table()
        joined = pa.concat_tables(parts)
        return joined.combine_chunks() if joined.num_columns and joined.column(0).num_chunks > CHUNKS else joined

"""The log of one relation: what changed, in the order of instants.

It is a row of blocks.  A transaction makes a block of one instant; a load of history or a wave over many transactions
makes one that spans many, its rows in the order of their instants.  A block is known before its rows are: those of a
database in a folder are read when somebody asks, and let go again once a snapshot holds them.

A place in the log is a pair: the number of whole blocks before it, and the number of rows of the next block.  Every
question is answered for a stretch between two places at a cost that does not follow the length of the log: sums are
kept per block, and only blocks that a place cuts in two are looked into.

Trap: a place does not outlive :meth:`Log.forget`, which takes blocks away from the front.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.errors import ReaderBehind
from tidings.ir.expression import TIME, WEIGHT

Load: TypeAlias = Callable[[int, int], list[pa.Table]]
"""The rows of all blocks that have some from one instant to another, one table per block."""

Place: TypeAlias = tuple[int, int]
"""Whole blocks before it, and rows of the block it cuts."""


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """What is known of a block without its rows."""

    first: int
    last: int
    rows: int
    growth: int
    """By how many rows the relation grew, net."""
    loses: bool
    """Whether some row went."""

    @staticmethod
    def of(entry: pa.Table, first: int, last: int) -> EntryFacts:
        weights = entry.column(WEIGHT)
        found = pc.min_max(weights).as_py()["min"]
        return EntryFacts(first, last, entry.num_rows, pc.sum(weights).as_py() or 0, found is not None and found < 0)


@dataclass(slots=True)
class Log:
    """Blocks in order, with running sums over them."""

    load: Load | None = None
    """Where the rows of blocks are, if they are anywhere but here."""
    forgotten: int = 0
    """The log reaches back to this instant; what was before is gone."""
    _facts: list[EntryFacts] = field(default_factory=list)
    _rows: list[pa.Table | None] = field(default_factory=list)
    _lasts: list[int] = field(default_factory=list)
    _counts: list[int] = field(default_factory=lambda: [0])
    _growth: list[int] = field(default_factory=lambda: [0])
    _losses: list[int] = field(default_factory=lambda: [0])

    def add(self, facts: EntryFacts, rows: pa.Table | None) -> None:
        """Add a block after all others."""
        self._facts.append(facts)
        self._rows.append(rows)
        self._lasts.append(facts.last)
        self._counts.append(self._counts[-1] + facts.rows)
        self._growth.append(self._growth[-1] + facts.growth)
        self._losses.append(self._losses[-1] + facts.loses)

    def horizon(self, before: int) -> int | None:
        """How far the log would reach back without what happened up to an instant; None if no less far than it does."""
        number = bisect_right(self._lasts, before)
        if number < len(self._facts) and self._facts[number].first <= before:
            found = before
        else:
            found = self._lasts[number - 1] if number else 0
        return found if found > self.forgotten else None

    def forget(self, before: int) -> bool:
        """Forget what happened up to an instant; whether that is more than was forgotten already.

        A block that goes on after the instant stays as it is; what it has from before is not asked for any more.
        """
        found = self.horizon(before)
        if found is None:
            return False
        self.forgotten = found
        self._replace(0, bisect_right(self._lasts, before), [])
        return True

    def merge(self, after: int, until: int) -> None:
        """Take the blocks that end in ``(after, until]`` as one, whose rows are loaded when somebody asks."""
        low, high = bisect_right(self._lasts, after), bisect_right(self._lasts, until)
        if high - low > 1:
            old = self._facts[low:high]
            rows, growth = self._counts[high] - self._counts[low], self._growth[high] - self._growth[low]
            one = EntryFacts(min(f.first for f in old), old[-1].last, rows, growth, any(f.loses for f in old))
            self._replace(low, high, [one])

    def _replace(self, low: int, high: int, facts: list[EntryFacts]) -> None:
        """Put blocks whose rows are not here in the place of others."""
        self._facts[low:high] = facts
        self._rows[low:high] = [None] * len(facts)
        self._lasts[low:high] = [f.last for f in facts]
        self._counts = [0, *accumulate(f.rows for f in self._facts)]
        self._growth = [0, *accumulate(f.growth for f in self._facts)]
        self._losses = [0, *accumulate(int(f.loses) for f in self._facts)]

    def learn(self, facts: EntryFacts) -> None:
        """Know of a block that another process has written; it may stand for several that are known."""
        self.cut(bisect_left(self._lasts, facts.first))
        self.add(facts, None)

    def rewrite(self, row_form: Callable[[pa.Table], pa.Table]) -> None:
        """Give the rows that are here another form."""
        self._rows = [None if rows is None else row_form(rows) for rows in self._rows]

    def cut(self, number: int) -> None:
        """Take away all but the first blocks."""
        del self._facts[number:], self._rows[number:], self._lasts[number:]
        del self._counts[number + 1 :], self._growth[number + 1 :], self._losses[number + 1 :]

    def release(self, until: int) -> None:
        """Let go of rows that can be loaded again, of blocks that end at an instant or earlier."""
        if self.load is not None:
            number = bisect_right(self._lasts, until)
            self._rows[:number] = [None] * number

    # places

    @property
    def last(self) -> int | None:
        """The last instant; None if there is none."""
        return self._lasts[-1] if self._lasts else None

    def place(self, at: int) -> Place:
        """Where the log stands at an instant, its changes included."""
        number = bisect_right(self._lasts, at)
        if number == len(self._facts) or self._facts[number].first > at:
            return number, 0
        times = self._block(number).column(TIME)
        return number, bisect_right(range(len(times)), at, key=lambda n: times[n].as_py())

    @property
    def end(self) -> Place:
        return len(self._facts), 0

    # what lies between two places

    def rows(self, start: Place, end: Place) -> list[pa.Table]:
        """The changes, block by block."""
        if start >= end:
            return []
        self._fetch(start[0], end[0] + bool(end[1]))
        return [part for n in range(start[0], end[0] + bool(end[1])) if (part := self._part(n, start, end)).num_rows]

    def at_hand(self, start: Place, end: Place) -> list[pa.Table] | None:
        """The changes between two blocks, if all of them are in memory."""
        found = self._rows[start[0] : end[0]]
        return None if any(rows is None for rows in found) else [rows for rows in found if rows is not None]

    def count(self, start: Place, end: Place) -> int:
        """The number of changes."""
        return max(0, self._counts[end[0]] + end[1] - self._counts[start[0]] - start[1])

    def growth(self, start: Place, end: Place) -> int:
        """By how many rows the relation grew, net; the end may come before the start."""
        return self._grown(end) - self._grown(start)

    def _grown(self, place: Place) -> int:
        number, cut = place
        part = pc.sum(self._block(number).slice(0, cut).column(WEIGHT)).as_py() if cut else 0
        return self._growth[number] + int(part)

    def only_grows(self, start: Place, end: Place) -> bool:
        """Whether no row went."""
        if start >= end:
            return True
        whole = start[0] + bool(start[1])
        if whole <= end[0] and self._losses[whole] < self._losses[end[0]]:
            return False
        cut = {number for number, offset in (start, end) if offset and self._facts[number].loses}
        return not any(EntryFacts.of(self._part(n, start, end), 0, 0).loses for n in cut)

    def instants(self, start: Place, end: Place) -> pa.Array:
        """The instants at which something changed, in order."""
        found: list[pa.Array] = []
        alone: list[int] = []
        for number in range(start[0], end[0] + bool(end[1])) if start < end else ():
            facts = self._facts[number]
            if facts.first == facts.last:
                alone.append(facts.last)
                continue
            found += [pa.array(alone, pa.int64()), pc.unique(self._part(number, start, end).column(TIME))]
            alone = []
        return pa.concat_arrays([*found, pa.array(alone, pa.int64())])

    def _part(self, number: int, start: Place, end: Place) -> pa.Table:
        """What of a block lies between two places."""
        rows = self._block(number)
        low = start[1] if number == start[0] else 0
        high = end[1] if number == end[0] else rows.num_rows
        return rows if low == 0 and high == rows.num_rows else rows.slice(low, high - low)

    def _block(self, number: int) -> pa.Table:
        if self._rows[number] is None:
            self._fetch(number, number + 1)
        return self._rows[number]

    def _fetch(self, first: int, last: int) -> None:
        """Load the rows of blocks that are not here."""
        missing = [n for n in range(first, last) if self._rows[n] is None]
        if missing:
            assert self.load is not None, "only a database in a folder lets go of rows"
            low, high = missing[0], missing[-1]
            found = self.load(self._facts[low].first, self._lasts[high])
            self._rows[low : high + 1] = _by_block(found, self._facts[low : high + 1])


def _by_block(found: list[pa.Table], wanted: list[EntryFacts]) -> list[pa.Table]:
    """The rows of each block; the writer may have made one of several since a reader came to know of them."""
    if [t.num_rows for t in found] == [f.rows for f in wanted]:
        return found
    if not found:
        raise ReaderBehind()
    rows, parts = pa.concat_tables(found), []
    times = rows.column(TIME).to_pylist()
    for facts in wanted:
        low, high = bisect_left(times, facts.first), bisect_right(times, facts.last)
        if high - low != facts.rows:
            raise ReaderBehind()
        parts.append(rows.slice(low, high - low))
    return parts


def in_order(delta: pa.Table) -> pa.Table:
    """A delta as the rows of one block: in the order of instants.

    >>> delta = pa.table({"x": [1, 2, 3], "__t": [30, 10, 20], "__w": [1, 1, 1]})
    >>> in_order(delta).column("x").to_pylist()
    [2, 3, 1]
    """
    times = delta.column(TIME).to_pylist()
    if all(a <= b for a, b in pairwise(times)):
        return delta
    return delta.take(pc.sort_indices(delta, sort_keys=[(TIME, "ascending")])).combine_chunks()


def span(entry: pa.Table) -> tuple[int, int]:
    """The first and the last instant of changes."""
    found = pc.min_max(entry.column(TIME)).as_py()
    return found["min"], found["max"]

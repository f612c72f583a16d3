"""The log of one relation: what changed, in the order of instants.

It is a sequence of blocks.  A transaction makes a block of one instant; a load of history or a wave over many
transactions makes one that spans many, its rows in the order of their instants.  A block is known before its rows are:
those of a database in a folder are read when somebody asks, and evicted once a snapshot holds them.

A place in the log is a pair: the number of whole blocks before it, and the number of rows of the next block.  Questions
about the changes between two places are answered by :class:`tidings.store.relation.log_range.LogRange`.

Trap: a place does not outlive :meth:`Log.forget`, which takes blocks away from the front.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tidings.errors import ReaderBehind
from tidings.ir.expression import TIME, WEIGHT

Load: TypeAlias = Callable[[int, int], list[pa.Table]]
"""The rows of all blocks that have some from one instant to another, one table per block."""

FEW = 64
"""So many values are looked at one by one faster than by a function over columns."""

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
        if entry.num_rows <= FEW:
            values = weights.to_pylist()
            return EntryFacts(first, last, len(values), sum(values), min(values, default=0) < 0)
        least = pc.min_max(weights).as_py()["min"]
        return EntryFacts(first, last, entry.num_rows, pc.sum(weights).as_py(), least < 0)


@dataclass(slots=True)
class Log:
    """Blocks in order, with running sums over them."""

    load: Load | None = None
    """Loads the rows of blocks that are not in memory; None if all are."""
    forgotten: int = 0
    """The log reaches back to this instant; what was before is gone."""
    facts: list[EntryFacts] = field(init=False, default_factory=list)
    rows: list[pa.Table | None] = field(init=False, default_factory=list)
    """The rows of each block; None where they have to be loaded."""
    lasts: list[int] = field(init=False, default_factory=list)
    """The last instant of each block."""
    counts: list[int] = field(init=False, default_factory=lambda: [0])
    """How many changes are before each block; so with the two that follow."""
    growth: list[int] = field(init=False, default_factory=lambda: [0])
    losses: list[int] = field(init=False, default_factory=lambda: [0])
    held_bytes: int = field(init=False, default=0)
    """About how many bytes its rows take in memory: those that were added since the last ones left it."""

    def add(self, facts: EntryFacts, rows: pa.Table | None) -> None:
        """Add a block after all others."""
        if rows is not None:
            self.held_bytes += rows.nbytes
        self.facts.append(facts)
        self.rows.append(rows)
        self.lasts.append(facts.last)
        self.counts.append(self.counts[-1] + facts.rows)
        self.growth.append(self.growth[-1] + facts.growth)
        self.losses.append(self.losses[-1] + facts.loses)

    def horizon(self, before: int) -> int | None:
        """How far the log would reach back without what happened up to an instant; None if no less far than it does."""
        number = bisect_right(self.lasts, before)
        if number < len(self.facts) and self.facts[number].first <= before:
            horizon = before
        else:
            horizon = self.lasts[number - 1] if number else 0
        return horizon if horizon > self.forgotten else None

    def forget(self, before: int) -> bool:
        """Forget what happened up to an instant; whether that is more than was forgotten already.

        A block that goes on after the instant stays as it is; what it has from before is not asked for any more.
        """
        horizon = self.horizon(before)
        if horizon is None:
            return False
        self.forgotten = horizon
        self._replace(0, bisect_right(self.lasts, before), [])
        return True

    def merge(self, after: int, until: int) -> None:
        """Take the blocks that end in ``(after, until]`` as one, whose rows are loaded when somebody asks."""
        low, high = bisect_right(self.lasts, after), bisect_right(self.lasts, until)
        if high - low > 1:
            old = self.facts[low:high]
            rows, growth = self.counts[high] - self.counts[low], self.growth[high] - self.growth[low]
            merged = EntryFacts(min(f.first for f in old), old[-1].last, rows, growth, any(f.loses for f in old))
            self._replace(low, high, [merged])

    def _replace(self, low: int, high: int, facts: list[EntryFacts]) -> None:
        """Put blocks whose rows are not in memory in the place of others."""
        self.facts[low:high] = facts
        self.rows[low:high] = [None] * len(facts)
        self.lasts[low:high] = [f.last for f in facts]
        self.counts = [0, *accumulate(f.rows for f in self.facts)]
        self.growth = [0, *accumulate(f.growth for f in self.facts)]
        self.losses = [0, *accumulate(int(f.loses) for f in self.facts)]

    def learn(self, facts: EntryFacts) -> None:
        """Know of a block that another process has written; it may stand for several that are known."""
        self.cut(bisect_left(self.lasts, facts.first))
        self.add(facts, None)

    def rewrite(self, row_form: Callable[[pa.Table], pa.Table]) -> None:
        """Give the rows that are in memory another form."""
        self.rows = [None if rows is None else row_form(rows) for rows in self.rows]

    def cut(self, number: int) -> None:
        """Take away all but the first blocks."""
        self.held_bytes -= sum(rows.nbytes for rows in self.rows[number:] if rows is not None)
        del self.facts[number:], self.rows[number:], self.lasts[number:]
        del self.counts[number + 1 :], self.growth[number + 1 :], self.losses[number + 1 :]

    def evict(self, until: int) -> None:
        """Evict the rows of blocks that end at an instant or earlier, if they can be loaded."""
        if self.load is not None:
            number = bisect_right(self.lasts, until)
            self.rows[:number] = [None] * number
            self.held_bytes = sum(rows.nbytes for rows in self.rows if rows is not None)

    # places

    @property
    def last(self) -> int | None:
        """The last instant; None if there is none."""
        return self.lasts[-1] if self.lasts else None

    def place(self, at: int) -> Place:
        """Where the log stands at an instant, its changes included."""
        number = bisect_right(self.lasts, at)
        if number == len(self.facts) or self.facts[number].first > at:
            return number, 0
        times = self.block(number).column(TIME)
        return number, bisect_right(range(len(times)), at, key=lambda n: times[n].as_py())

    @property
    def end(self) -> Place:
        return len(self.facts), 0

    def block(self, number: int) -> pa.Table:
        """The rows of a block."""
        if self.rows[number] is None:
            self.fetch(number, number + 1)
        return self.rows[number]

    def fetch(self, first: int, last: int) -> None:
        """Load the rows of blocks that are not in memory."""
        missing = [n for n in range(first, last) if self.rows[n] is None]
        if missing:
            assert self.load is not None, "only a database in a folder lets go of rows"
            low, high = missing[0], missing[-1]
            entries = self.load(self.facts[low].first, self.lasts[high])
            self.rows[low : high + 1] = _by_block(entries, self.facts[low : high + 1])


def _by_block(entries: list[pa.Table], blocks: list[EntryFacts]) -> list[pa.Table]:
    """The rows of each block; the writer may have made one of several since a reader came to know of them."""
    if [t.num_rows for t in entries] == [f.rows for f in blocks]:
        return entries
    if not entries:
        raise ReaderBehind()
    rows, parts = pa.concat_tables(entries), []
    times = rows.column(TIME).to_pylist()
    for facts in blocks:
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
    times = delta.column(TIME)
    if delta.num_rows <= FEW:
        values = times.to_pylist()
        is_in_order = values == sorted(values)
    else:
        is_in_order = pc.all(pc.less_equal(times.slice(0, len(times) - 1), times.slice(1))).as_py()
    if is_in_order:
        return delta
    return delta.take(pc.sort_indices(delta, sort_keys=[(TIME, "ascending")])).combine_chunks()


SPARE = 4
"""Rows may take so many times the bytes of their values, and a page, before they are copied."""

_BATCH = 4096
"""Engines allocate for about so many rows at once: 2048 in DuckDB, doubled as an answer grows."""

_PAGE = 4096


def compact(rows: pa.Table) -> pa.Table:
    """Rows that stay in memory, in buffers of their size: engines allocate theirs for thousands of rows.

    A few rows are always copied.  What Arrow says of the size of a buffer that came from an engine is no help: it is
    told where such a buffer begins, not how much was allocated, and takes the values' own bytes for it.
    """
    if rows.num_rows > _BATCH and rows.get_total_buffer_size() <= SPARE * rows.nbytes + _PAGE:
        return rows
    return rows.take(pa.array(range(rows.num_rows), pa.int64())).combine_chunks()


def span(entry: pa.Table) -> tuple[int, int]:
    """The first and the last instant of changes."""
    if 0 < entry.num_rows <= FEW:
        times = entry.column(TIME).to_pylist()
        return min(times), max(times)
    ends = pc.min_max(entry.column(TIME)).as_py()
    return ends["min"], ends["max"]

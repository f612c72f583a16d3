"""Questions about the changes between two places of a log.

They cost what the blocks that a place cuts in two cost, not the length of the log: the log keeps sums per block.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tidings.ir.expression import TIME, WEIGHT
from tidings.store.relation.log import EntryFacts, Log, Place


@dataclass(frozen=True, slots=True)
class LogRange:
    """The changes after one place and up to another."""

    log: Log
    start: Place
    end: Place

    def rows(self) -> list[pa.Table]:
        """The changes, block by block."""
        blocks = self._blocks()
        self.log.fetch(blocks.start, blocks.stop)
        return [part for number in blocks if (part := self._part(number)).num_rows]

    def rows_in_memory(self) -> list[pa.Table] | None:
        """The changes between two whole blocks, if all of them are in memory."""
        blocks = self.log.rows[self.start[0] : self.end[0]]
        present = [rows for rows in blocks if rows is not None]
        return present if len(present) == len(blocks) else None

    def count(self) -> int:
        """The number of changes."""
        return max(0, self.log.counts[self.end[0]] + self.end[1] - self.log.counts[self.start[0]] - self.start[1])

    def growth(self) -> int:
        """By how many rows the relation grew, net; the end may come before the start."""
        return self._grown(self.end) - self._grown(self.start)

    def _grown(self, place: Place) -> int:
        number, cut = place
        part = pc.sum(self.log.block(number).slice(0, cut).column(WEIGHT)).as_py() if cut else 0
        return self.log.growth[number] + int(part)

    def only_grows(self) -> bool:
        """Whether no row went."""
        if self.start >= self.end:
            return True
        whole = self.start[0] + bool(self.start[1])
        if whole <= self.end[0] and self.log.losses[whole] < self.log.losses[self.end[0]]:
            return False
        cut = {number for number, offset in (self.start, self.end) if offset and self.log.facts[number].loses}
        return not any(EntryFacts.of(self._part(n), 0, 0).loses for n in cut)

    def instants(self) -> pa.Array:
        """The instants at which something changed, in order."""
        arrays: list[pa.Array] = []
        single: list[int] = []
        for number in self._blocks():
            facts = self.log.facts[number]
            if facts.first == facts.last:
                single.append(facts.last)
                continue
            arrays += [pa.array(single, pa.int64()), pc.unique(self._part(number).column(TIME))]
            single = []
        return pa.concat_arrays([*arrays, pa.array(single, pa.int64())])

    def _blocks(self) -> range:
        """The numbers of the blocks that have changes between the places."""
        return range(self.start[0], self.end[0] + bool(self.end[1])) if self.start < self.end else range(0)

    def _part(self, number: int) -> pa.Table:
        """What of a block lies between two places."""
        rows = self.log.block(number)
        low = self.start[1] if number == self.start[0] else 0
        high = self.end[1] if number == self.end[0] else rows.num_rows
        return rows if low == 0 and high == rows.num_rows else rows.slice(low, high - low)

"""Questions about the history of a table: when it changed, by how much, and what its base does not hold yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tidings.engine.row_values import row_keys
from tidings.errors import HistoryGone
from tidings.ir.expression import TIME
from tidings.store.relation.log import Place
from tidings.store.relation.log_range import LogRange

if TYPE_CHECKING:
    from tidings.store.relation.net import Key
    from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What the log of one table says between instants."""

    table: Table

    def at(self, instant: int) -> Place:
        """Where the log stands at an instant that it must reach back to."""
        forgotten = self.table.forgotten
        if forgotten and instant < forgotten:
            raise HistoryGone(table=self.table.name, at=instant, since=forgotten)
        return self.table.entry_log.place(instant)

    def _between(self, start: Place, end: Place) -> LogRange:
        return LogRange(self.table.entry_log, start, end)

    def _since_base(self) -> LogRange:
        log = self.table.entry_log
        return LogRange(log, log.place(self.table.base_time), log.end)

    def changed(self, since: int, until: int) -> bool:
        """Whether any transaction in ``(since, until]`` touched the table."""
        return self.at(since) < self.at(until)

    def times(self, since: int, until: int) -> list[int]:
        """The instants in ``(since, until]`` at which the table changed."""
        return list(self.instants(since, until).to_pylist())

    def instants(self, since: int, until: int) -> pa.Array:
        """The same, where they may be many."""
        return self._between(self.at(since), self.at(until)).instants()

    def keyed(self, since: int, until: int) -> Iterator[tuple[Key, int]]:
        """The primary keys of the rows that were changed in ``(since, until]``, each with the instant."""
        for part in self._between(self.at(since), self.at(until)).rows():
            yield from zip(
                row_keys(part.select(list(self.table.constraints.key))), part.column(TIME).to_pylist(), strict=True
            )

    def size(self, at: int) -> int:
        """The number of rows at an instant."""
        return self.table.base_size + self._between(self.at(self.table.base_time), self.at(at)).growth()

    def change_count(self, since: int, until: int) -> int:
        """The number of changed rows in ``(since, until]``."""
        return self._between(self.at(since), self.at(until)).count()

    def since_base(self) -> int:
        """The number of changed rows that are not in the base."""
        return self._since_base().count()

    def only_grows(self, since: int, until: int) -> bool:
        """Whether no row went in ``(since, until]``."""
        return self._between(self.at(since), self.at(until)).only_grows()

    def entries(self) -> int:
        """The number of log entries that are not in the base."""
        return self.table.entry_log.end[0] - self.table.entry_log.place(self.table.base_time)[0]

    def horizon(self, before: int) -> int | None:
        """Up to when its log would be forgotten; None if nothing would be."""
        return self.table.entry_log.horizon(min(before, self.table.base_time))

    def unfolded(self) -> Callable[[], list[pa.Table]]:
        """A function that gives the entries after the base, in any thread: what is not in memory is loaded."""
        start, until, load = self.table.base_time + 1, self.table.last, self.table.entry_log.load
        entries = self._since_base().rows_in_memory()
        if entries is not None:
            return lambda: entries
        assert load is not None, "what is nowhere else is in memory"
        return lambda: load(start, until)

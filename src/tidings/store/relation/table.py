"""A table: a base, and a log of what transactions changed.

The base is the state at one instant, held by the engine or in snapshot files.  The state at any other instant is the
base with the log entries in between, or, for an earlier one, with those entries inverted: never a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.changes import as_changes, without_version
from tidings.engine.source import Source
from tidings.errors import DamagedFile, ReaderBehind, TidingsError
from tidings.ir import types
from tidings.ir.expression import WEIGHT
from tidings.ir.relation import Column, Version
from tidings.store.relation.constraints import NONE, Constraints
from tidings.store.relation.log import EntryFacts, Log, in_order, span
from tidings.store.relation.log_range import LogRange
from tidings.store.relation.net import Net
from tidings.store.relation.schema_evolution import LoadWritten, WrittenRows, added_values, with_current_columns
from tidings.store.relation.table_history import TableHistory
from tidings.store.relation.versions import Versions

_MANY = 10_000
"""Log entries of more rows than this are not counted as Python values when they are logged."""


@dataclass(slots=True)
class Table:
    """One table's columns, base and log."""

    name: str
    columns: tuple[Column, ...]
    constraints: Constraints = NONE
    id: int = 0
    role: str = "table"
    """What it is to users: a ``table``, an ``event`` with a row per signal, the ``activations`` of a rule, or the
    ``answers`` of a continuous query."""
    group_key: tuple[str, ...] = ()
    """The columns by which its rows are grouped, if it stores the groups of a view."""
    base: str | None = field(init=False, default=None)
    """The name under which the engine holds its base rows."""
    base_size: int = field(init=False, default=0)
    base_time: int = field(init=False, default=0)
    """The instant the base rows are of."""
    base_rows: pa.Table | None = field(init=False, default=None)
    """Its base rows, as long as they are in no file but still in this process."""
    base_token: object = field(init=False, default_factory=object)
    """Stands for the present base rows: another object for every base, whatever its name is."""
    sorted_by: str = field(init=False, default="")
    """The column its base was asked to be sorted by."""
    damage: TidingsError | None = field(init=False, default=None)
    """Why its rows cannot be read."""
    verify_base: Callable[[], None] | None = field(init=False, default=None)
    """Refuses base rows that are not those that were written; None once that is known."""
    entry_log: Log = field(init=False, default_factory=Log)
    """Its log entries; they are added by :meth:`log`."""
    _net: Net | None = field(init=False, default=None)
    _versions: Versions = field(init=False, default_factory=Versions)

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.columns)

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that tell its rows apart, if some are known to."""
        return self.constraints.key or self.group_key

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
        self.base, self.base_size, self.base_time, self.base_token = base, size, time, object()
        self.base_rows = None
        self.entry_log.evict(time)
        self._net = None
        self._versions.clear()

    def _require_sound(self) -> None:
        if self.damage is not None:
            raise self.damage

    def require_base(self) -> None:
        """Refuse to read base rows that are not those that were written; they are looked at once."""
        if self.verify_base is not None:
            try:
                self.verify_base()
            except DamagedFile as damage:
                self.damage = damage
                raise
            self.verify_base = None

    # the log

    def restore(self, logged: Iterable[EntryFacts], load: LoadWritten | None, forgotten: int = 0) -> None:
        """Know of log entries; their rows are loaded when they are needed."""
        self.entry_log = Log(forgotten=forgotten)
        self.load_entries_by(load)
        for facts in logged:
            self.entry_log.add(facts, None)

    def learn(self, logged: Iterable[EntryFacts]) -> None:
        """Know of more log entries, after all others."""
        for facts in logged:
            self.entry_log.learn(facts)
            self._net = None
            self._versions.clear()

    def load_entries_by(self, load: LoadWritten | None) -> None:
        """Let the rows of log entries be loaded from where they are recorded, if they are anywhere."""
        if self.entry_log.load is None and load is not None:
            self.entry_log.load = lambda after, until: list(map(self._current, load(after, until)))

    def _current(self, entry: WrittenRows) -> pa.Table:
        """A log entry with the columns the table has now."""
        dropped = self.dropped_since(entry.layout)
        return with_current_columns(entry.rows, self.columns, self.added_values, dropped).cast(self._versioned)

    @property
    def layout(self) -> int:
        """How many columns have been dropped."""
        return len(self.constraints.dropped)

    def dropped_since(self, layout: int) -> tuple[int, ...]:
        """The places of the columns that were dropped after something was written in a layout."""
        if layout > self.layout:
            raise ReaderBehind()
        return self.constraints.dropped[layout:]

    @property
    def added_values(self) -> dict[str, pa.Scalar]:
        """What rows have in columns that were added after them."""
        return added_values(self.columns, self.constraints.added)

    def alter(self, name: str, columns: tuple[Column, ...], constraints: Constraints) -> None:
        """Have another name, other names of columns, more columns or fewer."""
        before = self.layout
        self.name, self.columns, self.constraints = name, columns, constraints
        self.entry_log.rewrite(lambda rows: self._current(WrittenRows(rows, before)))
        self._net = None
        self._versions.clear()

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
        schema = self._versioned
        return in_order(delta if delta.schema.equals(schema) else delta.cast(schema))

    def log(self, time: int, entry: pa.Table, first: int | None = None) -> None:
        """Log an entry after all others; from ``first`` to ``time`` if it is not of one instant."""
        self.entry_log.add(EntryFacts.of(entry, time if first is None else first, time), entry)
        if self._net is not None and entry.num_rows > _MANY:
            self._net = None  # made anew when somebody asks; by then a snapshot may hold the rows
        elif self._net is not None:
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
        self.entry_log.merge(since, self.base_time)
        self._versions.clear()

    def mark(self) -> int:
        """Where the log ends, to go back to."""
        return self.entry_log.end[0]

    def back_to(self, mark: int) -> None:
        """Undo what was logged after a mark: the catalog did not take it."""
        self.entry_log.cut(mark)
        self._net = None
        self._versions.clear()

    def forget(self, before: int) -> bool:
        """Forget log entries that the base holds and that are not after an instant; whether there were any."""
        forgotten = self.entry_log.forget(min(before, self.base_time))
        if forgotten:
            self._versions.clear()
        return forgotten

    @property
    def forgotten(self) -> int:
        """The log reaches back to this instant; earlier states are gone."""
        return self.entry_log.forgotten

    @property
    def last(self) -> int:
        """The last instant at which it changed, as far as the log knows; that of its base if it did not."""
        logged = self.entry_log.last
        return self.base_time if logged is None else max(logged, self.base_time)

    # what the log adds up to

    @property
    def net(self) -> Net:
        """What the log after the base adds, as rows with signed counts."""
        self._require_sound()
        if self._net is None:
            net, log = Net(self.columns, self.constraints.key), self.entry_log
            for entry in LogRange(log, log.place(self.base_time), log.end).rows():
                self._count(net, entry)
            self._net = net  # once it is whole: entries may not be readable
        return self._net

    def _count(self, net: Net, entry: pa.Table) -> None:
        net.add(without_version(entry), entry.column(WEIGHT).to_pylist())

    # versions and history

    @property
    def history(self) -> TableHistory:
        """When it changed, and by how much."""
        return TableHistory(self)

    def source(self, version: Version, since: int, until: int) -> Source:
        """One version of the table, for a batch over ``(since, until]``."""
        self._require_sound()
        if version is not Version.DELTA:
            self.require_base()
        return self._versions.source(self, version, since, until)

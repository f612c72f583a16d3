"""The versions of a table that a batch of changes is computed from: its base with parts of its log.

A version before the base is the base with the entries in between inverted; no state is ever copied.  Versions that
were asked for lately are cached, since the queries of a batch ask for the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from tidings.engine.changes import inverted, no_changes
from tidings.engine.source import Source
from tidings.ir.relation import Version
from tidings.store.relation.log import Log, Place
from tidings.store.relation.log_range import LogRange

if TYPE_CHECKING:
    from tidings.store.relation.table import Table

CHUNKS = 200
"""Entries stay apart up to this number, then they are copied into one."""

CACHED = 16
"""So many versions are cached."""


@dataclass(frozen=True, slots=True)
class LogPart:
    """The part of a log between two places, as it is or inverted."""

    start: Place
    end: Place
    inverted: bool = False


@dataclass(slots=True)
class Versions:
    """Builds the versions of one table, and caches them until its places in the log change."""

    _sources: dict[tuple[bool, tuple[LogPart, ...]], Source] = field(init=False, default_factory=dict)
    _from_base: tuple[LogPart, pa.Table] | None = field(init=False, default=None)
    """The longest part of the log after the base that was asked for, and its changes."""

    def clear(self) -> None:
        """Forget all versions: the base or the places in the log are others."""
        self._sources.clear()
        self._from_base = None

    def source(self, table: Table, version: Version, since: int, until: int) -> Source:
        """One version of a table, for a batch over ``(since, until]``."""
        parts = tuple(_parts(table, version, since, until))
        key = (version is Version.DELTA, parts)
        if key not in self._sources:
            if len(self._sources) > CACHED:
                self._sources.clear()
            changes = _joined(table, [entry for part in parts for entry in self._changes(table, part)])
            base = None if version is Version.DELTA else table.base
            self._sources[key] = Source(table.columns, base, changes, table.row_key)
        return self._sources[key]

    def _changes(self, table: Table, part: LogPart) -> list[pa.Table]:
        log = table.entry_log
        if part.inverted:
            return [inverted(entry) for entry in _entries(log, part)]
        if part.start != log.place(table.base_time):
            return _entries(log, part)
        return [self._since_base(table, part)]

    def _since_base(self, table: Table, part: LogPart) -> pa.Table:
        """What the log adds to the base, built on what was asked for last: history grows at its end."""
        last = self._from_base
        if last is not None and last[0].start == part.start and last[0].end <= part.end:
            added = _entries(table.entry_log, LogPart(last[0].end, part.end))
            changes = _joined(table, [last[1], *added])
        else:
            changes = _joined(table, _entries(table.entry_log, part))
        if last is None or last[0].start != part.start or last[0].end <= part.end:
            self._from_base = (part, changes)
        return changes


def _entries(log: Log, part: LogPart) -> list[pa.Table]:
    return LogRange(log, part.start, part.end).rows()


def _parts(table: Table, version: Version, since: int, until: int) -> Iterator[LogPart]:
    """The parts of the log that a version consists of, in addition to the base."""
    at = table.history.at
    match version:
        case Version.DELTA:
            yield LogPart(at(since), at(until))
        case Version.OLD:
            yield _part_from_base(table, since)
        case Version.NEW:
            before = _part_from_base(table, since)
            if before.inverted:
                yield before
                yield LogPart(at(since), at(until))
            else:
                yield LogPart(before.start, at(until))
        case Version.CURRENT:
            yield _part_from_base(table, until)
        case _:
            assert_never(version)


def _part_from_base(table: Table, instant: int) -> LogPart:
    """What leads from the base to the state at an instant."""
    base, target = table.history.at(table.base_time), table.history.at(instant)
    return LogPart(base, target) if target >= base else LogPart(target, base, inverted=True)


def _joined(table: Table, entries: list[pa.Table]) -> pa.Table:
    """Entries as one table; engines are slow to read one of very many pieces."""
    if not entries:
        return no_changes(table.columns)
    joined = pa.concat_tables(entries)
    return joined.combine_chunks() if joined.num_columns and joined.column(0).num_chunks > CHUNKS else joined

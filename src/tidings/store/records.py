"""What the catalog holds, as values: relations, log entries, snapshots, cursors, subscriptions.

The whole store uses these; only ``catalog/`` knows in which tables and columns they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Definition:
    """One relation as the catalog knows it."""

    id: int
    name: str
    kind: str
    definition: dict[str, Any]
    created: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What changed in a relation, up to an instant: its columns, ``__t`` and ``__w``."""

    relation: int
    time: int
    rows: pa.Table
    first: int | None = None
    """The first instant, if there are several."""
    layout: int = 0
    """How many columns had been dropped when its rows were written."""


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """One file of a snapshot, with the least and greatest value of its sort key."""

    path: str
    rows: int
    bytes: int
    low: Any
    high: Any
    checksum: int | None = None
    """The CRC-32 of its bytes; files of earlier versions have none."""


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """A snapshot of a relation: as of when, and its files in the order of its key."""

    relation: int
    time: int
    rows: int
    folder: str
    files: tuple[SnapshotFile, ...]
    forgotten: int = 0
    """The log of the relation reaches back to this instant."""
    sorted_by: str = ""
    layout: int = 0
    """How many columns had been dropped when its files were written."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """From when to when the rows of a stored view reach, and why it stays there."""

    since: int
    until: int
    error: str | None


@dataclass(frozen=True, slots=True)
class NamedSubscription:
    """A named subscription: its query, and the instant up to which it got changes; None before its snapshot."""

    query: str
    position: int | None


BEGAN = "began"
"""The key of the note that has the instant of the first commit or load."""


@dataclass(slots=True)
class Batch:
    """What is to be recorded in one transaction of the catalog: all of it or nothing."""

    committed: int | None = None
    entries: list[LogEntry] = field(default_factory=list)
    cursors: dict[int, int] = field(default_factory=dict)
    """How far stored views have come."""
    refilled: dict[int, list[SnapshotRecord]] = field(default_factory=dict)
    """The snapshots of stored views that begin anew."""
    failed: dict[int, str] = field(default_factory=dict)
    """Why stored views stay where they are."""
    outdated: list[int] = field(default_factory=list)
    """Stored views whose rows do not count any more."""
    groupings: list[Definition] = field(default_factory=list)
    """Groupings that are stored from now on."""
    extra_writes: list[Callable[[Connection], None]] = field(default_factory=list)
    """Writes to the tables of rules that belong to it: what rules did, and what they have to send."""
    began: int | None = None
    """The first instant there is, if it is recorded with this batch."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What changes in the catalog when a view is replaced."""

    removed: list[int]
    added: list[Definition]
    changed: list[Definition]
    snapshots: dict[int, list[SnapshotRecord]]
    """The rows that a stored view begins with, or begins anew with."""
    outdated: list[int]
    """Stored views whose rows do not count any more."""
    name: str
    defined_at: int | None
    """Since when the name means something else, if it does."""

"""Folding: a table's log becomes part of its snapshot, so that reading costs nothing for the length of its history.

A thread of its own does the work (:mod:`tidings.store.fold_job`), and the owner's thread adopts the snapshot at its
next operation: one transaction of the catalog, then memory.  Commits go on meanwhile; what they log is after the
instant of the fold and stays in the log.

A log of many entries becomes one entry at the same time, so that what a database has to know of its history when it is
opened does not grow with the number of its transactions.

A fold that fails leaves the table as it was.  The reason is kept and logged, and the table is tried once more when its
log has grown by as much again.  A fold whose table has gone or has begun anew is thrown away.

A database in memory folds in the owner's thread, since nobody else can see its rows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from tidings.clock import Clock
from tidings.errors import DatabaseInDoubt, TidingsError
from tidings.logs import FOLD, INFO, WARNING, tell
from tidings.store.filesystem import discard
from tidings.store.fold_job import FoldJob, FoldOutcome, FoldThread
from tidings.store.relation.table import Table
from tidings.store.snapshots import adopt
from tidings.store.storage import Storage
from tidings.store.stored_views import outdate

_logger = logging.getLogger("tidings.store")


@dataclass(frozen=True, slots=True)
class FoldPolicy:
    """When a table is folded, and how long its changes are retained."""

    rows: int = 20_000
    """A table is folded when more rows than this are logged since its base,"""
    share: float = 0.1
    """and more than this part of the base."""
    in_memory: int = 1_000_000
    """A table in memory that has more rows than this is folded only when that is asked for."""
    retention: int | None = None
    """Microseconds for which changes are retained; None retains all of them."""
    entries: int = 8
    """A fold makes one entry of a log that has more entries than this."""
    most_entries: int = 1_000
    """A table in a folder is also folded when it has more entries than this since its base, and than one for every
    twenty rows that may be logged,"""
    most_bytes: int = 64 << 20
    """or when those that are in memory take more bytes than this."""

    def is_full(self, table: Table) -> bool:
        """Whether the log takes too much memory, however few rows it has."""
        entries = max(self.most_entries, self.limit(table) // 20)
        return table.history.entries() > entries or table.entry_log.held_bytes > self.most_bytes

    def limit(self, table: Table) -> int:
        return max(self.rows, int(self.share * table.base_size))


@dataclass(frozen=True, slots=True)
class TableStatus:
    """How a table, a stored view or a grouping stored for one stands."""

    name: str
    rows: int
    logged: int
    """Changed rows since its base."""
    history_since: int
    """The instant its history reaches back to."""
    folding: bool
    """Whether it is being folded."""
    error: str | None
    """Why it cannot be read, or why its last fold failed."""


@dataclass(slots=True)
class Folding:
    """Keeps the logs of one database short: starts folds, adopts them, forgets what is too old."""

    storage: Storage
    clock: Clock
    policy: FoldPolicy
    failures: dict[str, str] = field(init=False, default_factory=dict)
    """Why the last fold of a table failed, by its name."""
    number: int = field(init=False, default=0)
    """How many folds there were since the database was opened."""
    failed: int = field(init=False, default=0)
    """How many there were that failed."""
    _thread: FoldThread | None = field(init=False, default=None)
    _running: dict[int, FoldJob] = field(init=False, default_factory=dict)
    _not_before: dict[int, int] = field(init=False, default_factory=dict)

    def step(self) -> None:
        """Adopt what is finished, start what is due; takes no time worth mentioning where nothing is."""
        storage = self.storage
        if storage.is_reader:
            return
        if self._running and self._thread is not None:
            with storage.journal.settlement.settling():
                self._adopt(self._thread.outcomes())
        if not storage.fold_candidates:
            return
        candidates, storage.fold_candidates = storage.fold_candidates, {}
        for table in candidates.values():
            if self._is_due(table):
                self._start(table)

    def fold(self) -> int:
        """Fold every table that has a log, now; how many there were."""
        self._settle()
        due = [t for t in self.storage.tables() if t.history.since_base() and t.damage is None]
        for table in due:
            self.storage.snapshots.fold(table, merge=self._merges(table))
            self._succeeded(table)
        self._forget()
        return len(due)

    def close(self, *, adopting: bool = True) -> None:
        """Wait for the present fold and adopt it, if wanted; others are not begun."""
        if self._thread is not None:
            self._thread.stop()
            if adopting:
                self._adopt(self._thread.outcomes())
            self._thread = None
            self._running.clear()

    @property
    def running(self) -> frozenset[int]:
        """The relations that are being folded, or have been and not been adopted."""
        return frozenset(self._running)

    def status(self) -> tuple[TableStatus, ...]:
        """How tables, stored views and the groupings stored for them stand."""
        return tuple(
            TableStatus(
                t.name,
                t.history.size(t.last),
                t.history.since_base(),
                t.forgotten,
                t.id in self._running,
                str(t.damage) if t.damage is not None else self.failures.get(t.name),
            )
            for t in self.storage.tables()
        )

    def _is_due(self, table: Table) -> bool:
        if table.id in self._running or table.damage is not None:
            return False
        logged = table.history.since_base()
        if logged <= self._not_before.get(table.id, 0):
            return False
        in_folder = self.storage.journal.folder is not None
        return logged > self.policy.limit(table) or (in_folder and logged > 0 and self.policy.is_full(table))

    def _start(self, table: Table) -> None:
        job = self.storage.snapshots.fold_job(table, merge=self._merges(table))
        if job is None:
            self._fold_now(table)
            return
        if self._thread is None:
            self._thread = FoldThread(self.storage.backend.sibling())
        self._running[table.id] = job
        self._thread.request(job)

    def _fold_now(self, table: Table) -> None:
        """Fold a table in memory, unless that would hold up whoever commits for too long."""
        if table.base_size > self.policy.in_memory:
            return
        try:
            self.storage.snapshots.fold(table, merge=self._merges(table))
        except TidingsError as failure:
            self._failed(table, failure)
            return
        self._succeeded(table)
        self._forget()

    def _merges(self, table: Table) -> bool:
        """Whether the log of a table has so many entries that a fold makes one of them."""
        return table.history.entries() > self.policy.entries

    def _settle(self) -> None:
        """Wait for the folds that are under way."""
        while self._running and self._thread is not None:
            self._adopt(self._thread.outcomes(wait=True))

    def _adopt(self, outcomes: list[FoldOutcome]) -> None:
        storage, adopted = self.storage, False
        for outcome in outcomes:
            job, table = outcome.job, outcome.job.table
            self._running.pop(table.id, None)
            if outcome.snapshot is None:
                self._failed(table, outcome.failure)
            elif not self._still_fits(job):
                discard(job.target.root / outcome.snapshot.folder)
            else:
                try:
                    adopt(storage.journal, storage.snapshots, table, job.snapshot(outcome.snapshot), outcome.merged)
                except DatabaseInDoubt:
                    raise
                except TidingsError as failure:
                    self._failed(table, failure)
                    continue
                self._succeeded(table)
                storage.fold_candidates[table.id] = table
                adopted = True
        if adopted:
            try:
                self._forget()
            except TidingsError as failure:  # what is too old stays until the next fold; a commit may be waiting above
                _logger.warning("history could not be forgotten: %s", failure)

    def _still_fits(self, job: FoldJob) -> bool:
        """Whether a table is still the one a fold was begun for."""
        snapshot = self.storage.snapshots.files.get(job.table.id)
        same_base = (None if snapshot is None else snapshot.record) is job.base
        same_columns = job.table.columns == job.target.columns and job.table.layout == job.target.layout
        return same_base and same_columns and any(t is job.table for t in self.storage.tables())

    def _failed(self, table: Table, failure: Exception | None) -> None:
        self.failures[table.name] = str(failure)
        self._not_before[table.id] = table.history.since_base() + self.policy.limit(table)
        self.failed += 1
        error = type(failure).__name__
        tell(FOLD, WARNING, "%(table)s could not be folded: %(error)s", "fold_failed", table=table.name, error=error)

    def _succeeded(self, table: Table) -> None:
        self.failures.pop(table.name, None)
        self._not_before.pop(table.id, None)
        self.number += 1
        tell(FOLD, INFO, "folded %(table)s, %(rows)d rows", "fold", table=table.name, rows=table.base_size)

    def _forget(self) -> None:
        """Forget what is too old; a view that has failed and would still need it has to begin anew."""
        if self.policy.retention is None:
            return
        storage = self.storage
        storage.forget(self.clock.now() - self.policy.retention)
        failed = [v for v in storage.relations.stored() if v.error is not None and not v.is_outdated]
        begins = {t.name: t.forgotten for t in storage.tables()}
        late = [v for v in failed if any(begins.get(n, 0) > v.until for n in storage.relations.below(v.plan))]
        if late:
            outdate(storage, late)

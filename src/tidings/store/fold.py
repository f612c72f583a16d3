"""Folding: a table's log becomes part of its snapshot, so that reading costs nothing for the length of its history.

A thread of its own does the work, with an engine of its own.  It is given files and log entries, which nobody changes,
and hands back a snapshot that is durable and that nobody names.  The owner's thread adopts it at its next operation:
one transaction of the catalog, then memory.  Commits go on meanwhile; what they log is after the instant of the fold
and stays in the log.

A log of many entries becomes one entry at the same time, so that what a database has to know of its history when it is
opened does not follow the number of its transactions.

A fold that fails leaves the table as it was.  The reason is kept and logged, and the table is tried again once its log
has grown by as much again.  A fold whose table has gone or has begun anew is thrown away.

A database in memory folds in the owner's thread, since nobody else can see its rows.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.clock import Clock
from tidings.engine.arrow import arrow_schema
from tidings.engine.backend import Backend
from tidings.engine.source import Source
from tidings.errors import TidingsError
from tidings.ir import types
from tidings.ir.expression import TIME, WEIGHT
from tidings.store.catalog.journal import Journal
from tidings.store.records import SnapshotRecord
from tidings.store.relation.snapshot import Snapshot, Target, text_of, written
from tidings.store.relation.table import Table
from tidings.store.storage import Storage, merged
from tidings.store.stored_views import outdate

_logger = logging.getLogger("tidings.store")


@dataclass(frozen=True, slots=True)
class FoldPolicy:
    """When a table is folded, and how long its changes are kept."""

    rows: int = 20_000
    """A table is folded when more rows than this are logged since its base,"""
    share: float = 0.1
    """and more than this part of the base."""
    in_memory: int = 1_000_000
    """A table in memory that has more rows than this is folded only when that is asked for."""
    retention: int | None = None
    """Microseconds for which changes are kept; None keeps all of them."""

    def limit(self, table: Table) -> int:
        return max(self.rows, int(self.share * table.base_size))


@dataclass(frozen=True, slots=True)
class Job:
    """A table to fold: what its snapshot is made of, none of which changes any more."""

    table: Table
    """Only to be recognised by; it belongs to the owner's thread."""
    target: Target
    base: SnapshotRecord | None
    fills: Mapping[str, pa.Scalar]
    entries: Callable[[], list[pa.Table]]
    at: int
    journal: Journal | None = None
    """Where the log is to become one entry, if it is many."""

    def log(self) -> pa.Table:
        """What was logged since the base."""
        schema, found = arrow_schema(self.target.columns, versioned=True), self.entries()
        return pa.concat_tables([e.cast(schema) for e in found]) if found else schema.empty_table()

    def snapshot(self, base: SnapshotRecord) -> Snapshot:
        """The present snapshot, opened anew: open files are not for two threads."""
        return Snapshot(self.target.root, base, self.target.columns, self.target.key, self.fills)


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """A finished job: a snapshot, or why there is none."""

    job: Job
    made: SnapshotRecord | None
    merged: dict[str, Any] | None
    failure: TidingsError | OSError | None


def run(backend: Backend, job: Job) -> SnapshotRecord:
    """Write the snapshot a job asks for."""
    target = job.target
    names = [f"{target.name}@{part}" for part in ("base", "came", "went")]
    with tempfile.TemporaryDirectory(prefix="tidings-fold-") as folder:
        try:
            if job.base is not None:
                job.snapshot(job.base).load_into(backend, names[0])
            return written(backend, target, _text(backend, job, names, Path(folder)), job.at)
        finally:
            for name in names:
                backend.unload(name)


def _text(backend: Backend, job: Job, names: list[str], folder: Path) -> str:
    """A query for the rows after a fold: the base and what came, less what went.

    What came and went need not be netted first: rows that cancel do so here, as bags.  Only maps cannot be compared
    by an engine, so rows that may hold some are netted in this process.
    """
    columns, log = job.target.columns, job.log()
    base = names[0] if job.base is not None else None
    if any(types.is_nested(c.type) for c in columns):
        return text_of(backend, names[0], Source(columns, base, log))
    nothing = arrow_schema(columns, versioned=True).empty_table()
    came, went = _repeated(log, 1), _repeated(log, -1)
    parts = [text_of(backend, names[0], Source(columns, base, nothing))]
    for name, rows in zip(names[1:], (came, went), strict=True):
        if rows.num_rows:
            path = folder / f"{name == names[1]}.parquet"
            pq.write_table(rows, path)
            backend.load_files(name, columns, [path])
            parts.append(text_of(backend, name, Source(columns, name, nothing)))
    if not went.num_rows:
        return " UNION ALL ".join(parts)
    return f"({' UNION ALL '.join(parts[:-1])}) EXCEPT ALL {parts[-1]}"


def _repeated(log: pa.Table, sign: int) -> pa.Table:
    """The rows whose weights have a sign, each as often as its weight says."""
    weights = pc.multiply(log.column(WEIGHT), sign)
    rows = log.drop_columns([TIME, WEIGHT]).filter(pc.greater(weights, 0))
    counts = weights.filter(pc.greater(weights, 0))
    if pc.all(pc.equal(counts, 1)).as_py() is not False:
        return rows
    return rows.take(pa.array([n for n, count in enumerate(counts.to_pylist()) for _ in range(count)], pa.int64()))


@dataclass(frozen=True, slots=True)
class TableStatus:
    """How the rows of a table, a stored view or a grouping kept for one are held."""

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


class Folder:
    """The thread that folds, and its engine."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._outcomes: SimpleQueue[FoldOutcome] = SimpleQueue()
        self._thread = Thread(target=self._work, name="tidings-fold", daemon=True)
        self._thread.start()

    def request(self, job: Job) -> None:
        self._jobs.put(job)

    def outcomes(self, *, wait: bool = False) -> list[FoldOutcome]:
        """The jobs that are done; with ``wait`` at least one."""
        found = [self._outcomes.get()] if wait else []
        while True:
            try:
                found.append(self._outcomes.get_nowait())
            except Empty:
                return found

    def stop(self) -> None:
        """Let the present job end, and no other begin."""
        self._drain()
        self._jobs.put(None)
        self._thread.join()
        self._backend.close()

    def _drain(self) -> None:
        while not self._jobs.empty():
            try:
                self._jobs.get_nowait()
            except Empty:
                return

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            made: SnapshotRecord | None = None
            log: dict[str, Any] | None = None
            failure: TidingsError | OSError | None = None
            try:
                made = run(self._backend, job)
                if job.journal is not None:
                    log = merged(job.journal, job.target.relation, job.entries())
            except (TidingsError, OSError) as error:
                failure = error
            except Exception as error:
                failure = OSError(f"{type(error).__name__}: {error}")
                _logger.exception("folding %s failed", job.target.name)
            self._outcomes.put(FoldOutcome(job, made if failure is None else None, log, failure))


@dataclass(slots=True)
class Folding:
    """Keeps the logs of one database short: starts folds, adopts them, forgets what is too old."""

    storage: Storage
    clock: Clock
    policy: FoldPolicy
    failures: dict[str, str] = field(default_factory=dict)
    """Why the last fold of a table failed, by its name."""
    _folder: Folder | None = None
    _running: dict[int, Job] = field(default_factory=dict)
    _not_before: dict[int, int] = field(default_factory=dict)

    def step(self) -> None:
        """Adopt what is finished, start what is due; takes no time worth mentioning where nothing is."""
        storage = self.storage
        if storage.journal is not None and storage.journal.read_only:
            return
        if self._running and self._folder is not None:
            self._adopt(self._folder.outcomes())
        if not storage.touched:
            return
        touched, storage.touched = storage.touched, {}
        for table in touched.values():
            if self._is_due(table):
                self._start(table)

    def fold(self) -> int:
        """Fold every table that has a log, now; how many there were."""
        self._settle()
        due = [t for t in self.storage.tables() if t.since_base() and t.damage is None]
        for table in due:
            self.storage.fold(table)
            self._succeeded(table)
        self._forget()
        return len(due)

    def close(self) -> None:
        """Wait for the present fold and adopt it; others are not begun."""
        if self._folder is not None:
            self._folder.stop()
            self._adopt(self._folder.outcomes())
            self._folder = None
            self._running.clear()

    @property
    def running(self) -> frozenset[int]:
        """The relations that are being folded, or have been and not been adopted."""
        return frozenset(self._running)

    def status(self) -> tuple[TableStatus, ...]:
        """How tables, stored views and what is kept for them stand."""
        return tuple(
            TableStatus(
                t.name,
                t.size(t.last),
                t.since_base(),
                t.forgotten,
                t.id in self._running,
                str(t.damage) if t.damage is not None else self.failures.get(t.name),
            )
            for t in self.storage.tables()
        )

    def _is_due(self, table: Table) -> bool:
        if table.id in self._running or table.damage is not None:
            return False
        logged = table.since_base()
        if self.storage.journal is None and table.base_size > self.policy.in_memory:
            return False
        return logged > max(self.policy.limit(table), self._not_before.get(table.id, 0))

    def _start(self, table: Table) -> None:
        storage = self.storage
        if storage.journal is None:
            try:
                storage.fold(table)
            except TidingsError as failure:
                self._failed(table, failure)
                return
            self._succeeded(table)
            self._forget()
            return
        assert storage.folder is not None
        if self._folder is None:
            self._folder = Folder(storage.backend.sibling())
        snapshot = storage.snapshots.get(table.id)
        target = Target(table.id, table.name, table.columns, table.sort_column, storage.folder)
        base = None if snapshot is None else snapshot.base
        journal = storage.journal if table.entries() > storage.many else None
        job = Job(table, target, base, table.fills, table.unfolded(), table.last, journal)
        self._running[table.id] = job
        self._folder.request(job)

    def _settle(self) -> None:
        """Wait for the folds that are under way."""
        while self._running and self._folder is not None:
            self._adopt(self._folder.outcomes(wait=True))

    def _adopt(self, outcomes: list[FoldOutcome]) -> None:
        adopted = False
        for outcome in outcomes:
            job, table = outcome.job, outcome.job.table
            self._running.pop(table.id, None)
            if outcome.made is None:
                self._failed(table, outcome.failure)
            elif not self._still_fits(job):
                shutil.rmtree(job.target.root / outcome.made.folder, ignore_errors=True)
            else:
                try:
                    self.storage.adopt(table, outcome.made, outcome.merged)
                except TidingsError as failure:
                    self._failed(table, failure)
                    continue
                self._succeeded(table)
                self.storage.touched[table.id] = table
                adopted = True
        if adopted:
            try:
                self._forget()
            except TidingsError as failure:  # what is too old stays until the next fold; a commit may be waiting above
                _logger.warning("history could not be forgotten: %s", failure)

    def _still_fits(self, job: Job) -> bool:
        """Whether a table is still the one a fold was begun for."""
        snapshot = self.storage.snapshots.get(job.table.id)
        same = (None if snapshot is None else snapshot.base) is job.base and job.table.columns == job.target.columns
        return same and any(t is job.table for t in self.storage.tables())

    def _failed(self, table: Table, failure: Exception | None) -> None:
        self.failures[table.name] = str(failure)
        self._not_before[table.id] = table.since_base() + self.policy.limit(table)
        _logger.warning("%s could not be folded: %s", table.name, failure)

    def _succeeded(self, table: Table) -> None:
        self.failures.pop(table.name, None)
        self._not_before.pop(table.id, None)

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

"""Folding one table in a thread of its own: from files and log entries, which nobody changes, to a new snapshot.

The thread has an engine of its own.  It hands back a snapshot that is durable and that nobody names; the owner's thread
adopts it (:mod:`tidings.store.fold`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import pyarrow as pa

from tidings.engine.arrow import arrow_schema
from tidings.engine.backend import Backend
from tidings.engine.source import Source
from tidings.engine.sql.row_queries import rows_query
from tidings.errors import TidingsError
from tidings.store.catalog.log_entries import merged
from tidings.store.records import SnapshotRecord
from tidings.store.relation.small_states import SMALL_ROWS, is_small, small_state
from tidings.store.relation.snapshot import Snapshot
from tidings.store.relation.snapshot_writer import SnapshotTarget, is_writable_here, write_rows, write_snapshot
from tidings.store.relation.table import Table

_logger = logging.getLogger("tidings.store")


@dataclass(frozen=True, slots=True)
class FoldJob:
    """A table to fold: what its snapshot is made of, none of which changes any more."""

    table: Table
    """Only to be recognised by; it belongs to the owner's thread."""
    target: SnapshotTarget
    base: SnapshotRecord | None
    added_values: Mapping[str, pa.Scalar]
    dropped: tuple[int, ...]
    """The places of columns that were dropped since its base was written."""
    entries: Callable[[], list[pa.Table]]
    at: int
    merge: bool = False
    """Whether the log is to become one entry."""
    key: tuple[str, ...] = ()
    """The columns that tell its rows apart, if some are known to."""

    def log(self) -> pa.Table:
        """What was logged since the base."""
        schema, entries = arrow_schema(self.target.columns, versioned=True), self.entries()
        return pa.concat_tables([e.cast(schema) for e in entries]) if entries else schema.empty_table()

    def snapshot(self, record: SnapshotRecord) -> Snapshot:
        """A snapshot of the table, opened anew: open files are not for two threads."""
        target, dropped = self.target, self.dropped if record is self.base else ()
        return Snapshot(target.root, record, target.columns, target.sort_column, self.added_values, dropped=dropped)


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """A finished job: a snapshot, or why there is none."""

    job: FoldJob
    snapshot: SnapshotRecord | None
    merged: dict[str, Any] | None
    failure: TidingsError | OSError | None


class FoldThread:
    """The thread that folds, and its engine."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._jobs: SimpleQueue[FoldJob | None] = SimpleQueue()
        self._outcomes: SimpleQueue[FoldOutcome] = SimpleQueue()
        self._thread = Thread(target=self._work, name="tidings-fold", daemon=True)
        self._thread.start()

    def request(self, job: FoldJob) -> None:
        self._jobs.put(job)

    def outcomes(self, *, wait: bool = False) -> list[FoldOutcome]:
        """The jobs that are done; with ``wait`` at least one."""
        outcomes = [self._outcomes.get()] if wait else []
        while True:
            try:
                outcomes.append(self._outcomes.get_nowait())
            except Empty:
                return outcomes

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
            snapshot: SnapshotRecord | None = None
            entry: dict[str, Any] | None = None
            failure: TidingsError | OSError | None = None
            try:
                snapshot = run(self._backend, job)
                if job.merge:
                    entry = merged(job.target, job.entries())
            except (TidingsError, OSError) as error:
                failure = error
            except Exception as error:
                failure = OSError(f"{type(error).__name__}: {error}")
                _logger.exception("folding %s failed", job.target.name)
            self._outcomes.put(FoldOutcome(job, snapshot if failure is None else None, entry, failure))


def _small_rows(job: FoldJob) -> pa.Table | None:
    """The rows that a job's snapshot is to have, made in this process; None if there are many."""
    base = None if job.base is None else job.snapshot(job.base)
    if base is not None and not is_small(base.record):
        return None
    if not is_writable_here(job.target) or (log := job.log()).num_rows > SMALL_ROWS:
        return None
    rows = arrow_schema(job.target.columns).empty_table() if base is None else base.rows()
    return small_state(job.target.columns, rows, [log])


def run(backend: Backend, job: FoldJob) -> SnapshotRecord:
    """Write the snapshot a job asks for."""
    rows = _small_rows(job) if backend.looks_up_first else None
    if rows is not None:
        return write_rows(job.target, rows, job.at)
    name = f"{job.target.name}@base"
    base = None if job.base is None else name
    try:
        if job.base is not None:
            base_rows = job.snapshot(job.base)
            base_rows.verify()  # what is damaged must not go into another snapshot
            base_rows.load_into(backend, name)
        source = Source(job.target.columns, base, job.log(), job.key)
        return write_snapshot(backend, job.target, rows_query(backend, name, source), job.at)
    finally:
        backend.unload(name)

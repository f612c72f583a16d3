"""The commit: everything that happens when changes become durable, in this order.

1. The commit takes the next instant of the timeline, and so do rows that do not say when they came.
2. The net changes are checked against the constraints of their tables.
3. One catalog transaction is opened.  In it

   a. the changes are logged,
   b. stored views with ``refresh = 'immediate'`` are brought to the instant,
   c. the hook records which rules fired and what they send.

4. The catalog transaction is written: all of it is durable, or nothing has happened.
5. Subscribers that wait for commits are woken.
6. Folding takes a step: it adopts snapshots that are ready, and begins new ones where logs have grown long.

Rules that take part in the transaction run before, see :class:`tidings.write.hooks.TransactionHook`; detached rules and
deliveries run after it, from what the hook has recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import pyarrow as pa

from tidings.constraints.after import Arrival, check_after
from tidings.constraints.enforce import Enforcer, NetChange
from tidings.constraints.fragment_keys import check_fragment_keys
from tidings.engine.changes import without_version
from tidings.errors import TidingsError
from tidings.exclusive import Mutex, exclusive
from tidings.ir.expression import TIME
from tidings.logs import COMMIT, INFO, tell
from tidings.running_statements import exempt
from tidings.store.fold import Folding
from tidings.store.relation.log import span
from tidings.store.relation.table import Table
from tidings.store.storage import Storage
from tidings.store.timeline import Timeline
from tidings.waves.scheduler import Scheduler
from tidings.write.arrivals import arrived
from tidings.write.hooks import CommitHook

_logger = logging.getLogger("tidings.store")


@dataclass(slots=True)
class Commits:
    """Commits transactions and histories to one database."""

    storage: Storage
    enforcer: Enforcer
    scheduler: Scheduler
    timeline: Timeline
    folding: Folding
    _mutex: Mutex
    number: int = field(init=False, default=0)
    """How many commits there were since the database was opened, loads among them,"""
    changes: int = field(init=False, default=0)
    """how many rows they inserted or deleted, each update being both,"""
    seconds: float = field(init=False, default=0.0)
    """and how long they took to log, with all that goes with it."""

    @exclusive
    def commit(self, changes: Sequence[NetChange], hook: CommitHook | None = None) -> int:
        """Check all changes, then log them all at one instant; returns the instant.

        Signals are removed at the next instant, at which nothing else is committed.
        """
        time = self.timeline.next()
        changes = [arrived(change, time) for change in changes]
        for change in changes:
            self.enforcer.check(change)
        check_fragment_keys(self.enforcer.finder, self.storage.relations, changes)
        self._check_after([Arrival(c.table, c.rows, [time] * len(c.weights)) for c in changes])
        if not changes and hook is None:
            self.timeline.reach(time)
            return time
        entries = [(change.table, _log_entry(change, time)) for change in changes]
        has_signals = any(change.table.role == "event" for change in changes)
        self.record(entries, time + 1 if has_signals else time, None if hook is None else partial(hook, time))
        return time

    def check_histories(self, histories: Sequence[tuple[Table, pa.Table]]) -> None:
        """Refuse histories with rows that break a constraint."""
        for table, entry in histories:
            self.enforcer.check_history(table, entry)
        self._check_after([Arrival(t, without_version(e), e.column(TIME).to_pylist()) for t, e in histories])

    def _check_after(self, arrivals: Sequence[Arrival]) -> None:
        if any(arrival.table.constraints.after for arrival in arrivals):
            check_after(self.enforcer.finder, self.storage.relations, arrivals)

    def record(
        self, entries: Sequence[tuple[Table, pa.Table]], until: int, hook: Callable[[], None] | None = None
    ) -> None:
        """Log entries that passed their checks, the last of them at ``until``, with all that goes with a commit."""
        self.storage.require_writer()
        begun, first = perf_counter(), None
        if self.timeline.time == 0:
            first = min((span(entry)[0] for _, entry in entries if entry.num_rows), default=until)
        with self.timeline.reaching(until, first), self.storage.together(until) as pending:
            pending.batch.began = first
            for table, entry in entries:
                self.storage.log(table, entry)
            self.scheduler.advance_immediate(until)
            if hook is not None:
                hook()
        self.storage.journal.settlement.end()
        self.count(until, [(table.name, entry.num_rows) for table, entry in entries], perf_counter() - begun)
        self._fold()

    def count(self, time: int, rows: Sequence[tuple[str, int]], seconds: float) -> None:
        """Count a commit, and tell of it."""
        changes = sum(number for _, number in rows)
        self.number, self.changes, self.seconds = self.number + 1, self.changes + changes, self.seconds + seconds
        if COMMIT.isEnabledFor(INFO):
            text = "committed %(changes)d changed rows at %(time)d"
            tell(COMMIT, INFO, text, "commit", time=time, changes=changes, tables=dict(rows), seconds=seconds)

    def _fold(self) -> None:
        """Let folding take a step; what is committed stays so, whatever becomes of that."""
        try:
            with exempt():
                self.folding.step()
        except (TidingsError, RuntimeError) as failure:
            _logger.warning("folding could not go on: %s", failure)


def _log_entry(change: NetChange, time: int) -> pa.Table:
    """The log entry of a change; the rows of a signal come at its instant and go at the next."""
    entry = change.table.entry(time, change.rows, change.weights)
    if change.table.role != "event":
        return entry
    return pa.concat_tables([entry, change.table.entry(time + 1, change.rows, [-w for w in change.weights])])

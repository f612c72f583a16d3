"""Advances a database in a thread: when something is committed, and when something is due.

The thread takes the lock of the database for each advance, as every other caller does.  It waits outside of the lock
for at least as long as the last advance took, so that callers have half of the time however much they commit.

What another process does, and a clock that tells nobody that it was moved, are noticed by a look every now and then.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from tidings.clock import ManualClock
from tidings.errors import DatabaseClosed
from tidings.exclusive import Mutex
from tidings.front.maintenance import Maintenance
from tidings.retry_policy import SECOND
from tidings.running_statements import exempt
from tidings.worker_thread import Backoff, WorkerStatus, WorkerThread

POLL = 1.0
"""Seconds between two looks at the clock and at other processes, unless the caller says otherwise."""

_LONGEST_REST = 1.0
"""No rest after an advance is longer, in seconds."""

_logger = logging.getLogger("tidings.runner")


@dataclass(slots=True)
class BackgroundRunner:
    """Advances one database in a thread, from :meth:`start` to :meth:`stop`."""

    maintenance: Maintenance
    mutex: Mutex
    """The lock of the database."""
    wakeup: Event
    """Is set when there may be something to do."""
    closed: Event
    """Is set when the database is closed."""
    backoff: Backoff = field(default_factory=Backoff)
    _poll: float = field(init=False, default=POLL)
    _is_pending: bool = field(init=False, default=True)
    """Whether there is something to do, as far as is known."""
    _due: int | None = field(init=False, default=None)
    """When there will be something to do, if nothing happens before."""
    _unsettled: int = field(init=False, default=0)
    """How many advances in a row left a view or a condition behind because it fails."""
    _worker: WorkerThread = field(init=False)

    def __post_init__(self) -> None:
        clock = self.maintenance.timeline.clock
        worker = WorkerThread("tidings-runner", self._work, clock.source, _logger, self.wakeup, backoff=self.backoff)
        self._worker = worker

    def start(self, poll: float = POLL) -> None:
        """Advance in a thread from now on; one that does so already goes on."""
        self.mutex.check()
        if self.closed.is_set():
            raise DatabaseClosed()
        if self._worker.is_alive:
            return
        self._poll, self._is_pending = poll, True
        clock = self.maintenance.timeline.clock.source
        if self._worker.start() and isinstance(clock, ManualClock):
            clock.listen(self.wakeup.set)

    def stop(self) -> None:
        """End the thread; an advance that is under way is waited for."""
        clock = self.maintenance.timeline.clock.source
        if isinstance(clock, ManualClock):
            clock.unlisten(self.wakeup.set)
        self._worker.stop()

    def status(self) -> WorkerStatus:
        """How the thread is doing."""
        return self._worker.status

    def _work(self) -> float:
        """Advance if there is something to do; how many seconds there is nothing more to do."""
        clock, took = self.maintenance.timeline.clock, 0.0
        with self._turn() as is_our_turn:
            if not is_our_turn:
                return 0.0
            self.mutex.check()
            if self.wakeup.is_set():
                self.wakeup.clear()
                self._is_pending = True
            now = clock.now()
            if self._is_pending or (self._due is not None and self._due <= now) or self.maintenance.is_behind:
                self._is_pending = True
                began = time.monotonic()
                self._advance(now)
                took = time.monotonic() - began
        self._worker.stopping.wait(min(took, _LONGEST_REST))
        return self._poll if self._due is None else min(self._poll, max(0.0, (self._due - clock.now()) / SECOND))

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Hold the lock of the database; not if the thread is to end before it gets it.

        Whoever ends the thread may hold the lock, and waits for it.
        """
        while not (is_our_turn := self.mutex.acquire(timeout=0.1)) and not self._worker.stopping.is_set():
            pass
        try:
            yield is_our_turn
        finally:
            if is_our_turn:
                self.mutex.release()

    def _advance(self, now: int) -> None:
        """Advance, and learn what is due after ``now``."""
        self.maintenance.reload()
        with exempt():
            self.maintenance.advance()
        due = self.maintenance.next_due(now, round(self._poll * SECOND))
        self._unsettled = self._unsettled + 1 if self.maintenance.is_unsettled else 0
        if self._unsettled:
            retry = now + round(self.backoff.wait(self._unsettled) * SECOND)
            due = retry if due is None else min(due, retry)
        self._is_pending, self._due = False, due

"""A thread that delivers what is due, and sleeps in between."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from threading import Event

from tidings.deliver.deliverer import Deliverer
from tidings.retry_policy import SECOND
from tidings.worker_thread import WorkerThread

_logger = logging.getLogger("tidings.deliver")


@dataclass(slots=True)
class DeliveryThread:
    """Calls :meth:`Deliverer.step` in a thread, from :meth:`start` to :meth:`stop`."""

    deliverer: Deliverer
    poll: float = 1.0
    """How many seconds the thread sleeps at most."""
    wakeup: Event = field(default_factory=Event)
    """Is set when something may have been put into the outbox."""
    _worker: WorkerThread = field(init=False)

    def __post_init__(self) -> None:
        clock, stopping = self.deliverer.clock, self.deliverer.stopping
        self._worker = WorkerThread("tidings-deliver", self._work, clock, _logger, self.wakeup, stopping)

    @property
    def error(self) -> str | None:
        """What keeps the thread from working, if anything does."""
        return self._worker.status.error

    def start(self) -> None:
        """Deliver in a thread from now on."""
        self._worker.start()

    def stop(self) -> None:
        """End the thread; what it is sending is waited for, what it has not sent stays in the outbox."""
        self._worker.stop()

    def wake(self) -> None:
        """Say that there is something to deliver; without this it is noticed a little later."""
        self.wakeup.set()

    def __enter__(self) -> DeliveryThread:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _work(self) -> float:
        """Deliver what is due; how many seconds to sleep then."""
        self.wakeup.clear()
        if self.deliverer.step():
            return 0.0
        due = self.deliverer.next_due()
        return self.poll if due is None else min(self.poll, max(0.01, (due - self.deliverer.clock.now()) / SECOND))

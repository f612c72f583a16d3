"""A thread that hands what is due to the workers of a deliverer, and sleeps in between.

It waits for no receiver, so one that hangs holds up neither this thread nor its end.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from threading import Event

from tidings.deliver.deliverer import Deliverer
from tidings.retry_policy import SECOND
from tidings.store.rules.messages import Sending
from tidings.worker_thread import WorkerStatus, WorkerThread

_logger = logging.getLogger("tidings.deliver")

CLOSING = 3.0
"""How many seconds the end of what is being sent is waited for."""


@dataclass(slots=True)
class DeliveryThread:
    """Calls :meth:`Deliverer.dispatch` in a thread, from :meth:`start` to :meth:`stop`."""

    deliverer: Deliverer
    poll: float = 1.0
    """How many seconds the thread sleeps at most."""
    wakeup: Event = field(default_factory=Event)
    """Is set when something may have been put into the outbox, and when a worker becomes free."""
    closing: float = CLOSING
    _worker: WorkerThread = field(init=False)
    _reported: set[str] = field(init=False, default_factory=set)
    """The ids of messages that were logged as stuck."""

    def __post_init__(self) -> None:
        self.deliverer.on_free = self.wakeup.set
        self._worker = WorkerThread("tidings-deliver", self._work, self.deliverer.clock, _logger, self.wakeup)

    @property
    def error(self) -> str | None:
        """What keeps the thread from working, if anything does."""
        return self.status.error

    @property
    def status(self) -> WorkerStatus:
        """How the thread is doing."""
        return self._worker.status

    def start(self) -> None:
        """Deliver in a thread from now on."""
        self._worker.start()

    def stop(self) -> None:
        """End the thread and what is being sent; what was not sent stays in the outbox.

        A worker that does not end within a few seconds is left behind.  What it is sending is sent again by the next
        who delivers.
        """
        self.deliverer.stopping.set()
        self._worker.stop()
        for sending in self.deliverer.stop(self.closing):
            self._report("was left behind", sending)
        self.deliverer.stopping.clear()

    def wake(self) -> None:
        """Say that there is something to deliver; without this it is noticed a little later."""
        self.wakeup.set()

    def __enter__(self) -> DeliveryThread:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _work(self) -> float:
        """Hand over what is due; how many seconds to sleep then."""
        self.wakeup.clear()
        self._report_stuck()
        now = self.deliverer.clock.now()
        if self.deliverer.dispatch(now):
            return 0.0
        due = self.deliverer.next_due(after=now)
        return self.poll if due is None else min(self.poll, max(0.01, (due - self.deliverer.clock.now()) / SECOND))

    def _report_stuck(self) -> None:
        stuck = [sending for sending in self.deliverer.sending() if sending.is_stuck]
        for sending in stuck:
            if sending.id not in self._reported:
                self._report("is stuck", sending)
        self._reported = {sending.id for sending in stuck}

    def _report(self, what: str, sending: Sending) -> None:
        text = "The worker of channel %s %s: it is sending message %s to %s"
        _logger.warning(text, sending.channel, what, sending.id, sending.target)

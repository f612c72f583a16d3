"""A thread that delivers what is due, and sleeps in between."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from threading import Event, Thread

from tidings.deliver.deliverer import Deliverer
from tidings.errors import StaleWriter, TidingsError
from tidings.retry_policy import SECOND

_logger = logging.getLogger("tidings.deliver")


@dataclass(slots=True)
class DeliveryThread:
    """Calls :meth:`Deliverer.step` in a thread, from :meth:`start` to :meth:`stop`."""

    deliverer: Deliverer
    poll: float = 1.0
    """How many seconds the thread sleeps at most."""
    wakeup: Event = field(default_factory=Event)
    """Is set when something may have been put into the outbox."""
    error: str | None = field(init=False, default=None)
    """What keeps the thread from working, if anything does."""
    _thread: Thread | None = field(init=False, default=None)

    def start(self) -> None:
        """Deliver in a thread from now on."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="tidings-deliver", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; what it is sending is waited for, what it has not sent stays in the outbox."""
        if self._thread is not None:
            self.deliverer.stopping.set()
            self.wakeup.set()
            self._thread.join()
            self._thread = None
            self.deliverer.stopping.clear()

    def wake(self) -> None:
        """Say that there is something to deliver; without this it is noticed a little later."""
        self.wakeup.set()

    def __enter__(self) -> DeliveryThread:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while not self.deliverer.stopping.is_set():
            self.wakeup.clear()
            try:
                is_idle = not self.deliverer.step()
                pause = self._pause() if is_idle else 0.0
                self.error = None
            except StaleWriter as error:  # another process is the writer, and delivers
                self.error = str(error)
                return
            except Exception as error:  # a full disk, say: it is shown, and tried again
                self._report(error)
                pause = self.poll
            if pause:
                self.wakeup.wait(pause)

    def _report(self, error: Exception) -> None:
        if self.error != str(error):
            _logger.warning("deliveries are held up: %s", error, exc_info=not isinstance(error, TidingsError))
        self.error = str(error)

    def _pause(self) -> float:
        """How many seconds to sleep."""
        due = self.deliverer.next_due()
        return self.poll if due is None else min(self.poll, max(0.01, (due - self.deliverer.clock.now()) / SECOND))

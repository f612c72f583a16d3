"""A daemon thread that does what is due, and sleeps in between.

What goes wrong does not end it: the error is logged and shown, and after a wait, longer each time, the thread goes on.
It ends when another process has become the writer, since that one does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from logging import Logger
from threading import Event, Lock, Thread, current_thread

from tidings.clock import Clock
from tidings.errors import ClockTooFarAhead, DatabaseClosed, DatabaseInDoubt, StaleWriter, TidingsError


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """How a thread that works in the background is doing."""

    running: bool = False
    error: str | None = None
    """What went wrong when it last worked; None if that went well."""
    failed_at: int | None = None
    """When that was, if the clock says it."""
    failures: int = 0
    """How often in a row it went wrong."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How many seconds to wait after failures in a row.

    >>> [Backoff().wait(failures) for failures in (1, 2, 3, 10)]
    [1.0, 2.0, 4.0, 60.0]
    """

    first: float = 1.0
    longest: float = 60.0

    def wait(self, failures: int) -> float:
        """How many seconds to wait after so many failures."""
        return min(self.longest, self.first * 2.0 ** min(failures - 1, 32))


@dataclass(slots=True)
class WorkerThread:
    """Calls a function in a thread, again and again, from :meth:`start` to :meth:`stop`."""

    name: str
    work: Callable[[], float]
    """Does what is due; returns for how many seconds there is nothing more to do, unless ``wakeup`` is set."""
    clock: Clock
    logger: Logger
    wakeup: Event = field(default_factory=Event)
    """Is set when there may be something to do; ``work`` clears it."""
    stopping: Event = field(default_factory=Event)
    """Is set while the thread is asked to end; ``work`` may look at it."""
    backoff: Backoff = field(default_factory=Backoff)
    _status: WorkerStatus = field(init=False, default_factory=WorkerStatus)
    _thread: Thread | None = field(init=False, default=None)
    _switching: Lock = field(init=False, default_factory=Lock)
    """Is held while the thread is started or ended."""

    def start(self) -> bool:
        """Work in a thread from now on; returns whether it did not do so already."""
        with self._switching:
            if self._thread is not None and self.stopping.is_set():
                self._thread.join()  # it has asked itself to end
                self.stopping.clear()
            if self.is_alive:
                return False
            self._status = WorkerStatus()
            self._thread = Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()
            return True

    def stop(self) -> None:
        """End the thread; what it is doing is waited for, unless it is this thread that asks."""
        if self._thread is current_thread():
            self.stopping.set()
            return
        with self._switching:
            if self._thread is not None:
                self.stopping.set()
                self.wakeup.set()
                self._thread.join()
                self._thread = None
                self.stopping.clear()

    @property
    def is_alive(self) -> bool:
        """Whether the thread is there; it may have ended by itself."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def status(self) -> WorkerStatus:
        """How the thread is doing; after it has ended, how it was doing then."""
        status = self._status
        return WorkerStatus(self.is_alive, status.error, status.failed_at, status.failures)

    def _run(self) -> None:
        while not self.stopping.is_set():
            try:
                pause = self.work()
            except (StaleWriter, DatabaseClosed, DatabaseInDoubt) as error:
                self._note(error)
                return
            except Exception as error:  # a full disk, say: it is shown, and tried again
                self._note(error)
                self.stopping.wait(self.backoff.wait(self._status.failures))
                continue
            self._status = WorkerStatus()
            if pause > 0 and not self.stopping.is_set():
                self.wakeup.wait(pause)

    def _note(self, error: Exception) -> None:
        text = str(error) if isinstance(error, TidingsError) else f"{type(error).__name__}: {error}"
        if self._status.error != text:
            self.logger.warning("%s is held up: %s", self.name, text, exc_info=not isinstance(error, TidingsError))
        at = None
        with suppress(ClockTooFarAhead):
            at = self.clock.now()
        self._status = WorkerStatus(True, text, at, self._status.failures + 1)

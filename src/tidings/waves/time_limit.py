"""A limit to the time that a wave may take.

A wave that takes far longer than was estimated is stopped, so that it can be run the other way: once it has taken
:data:`OVERRUN` times its estimate, :data:`GRACE` seconds more than that, and as long as the other way would take.  So
all in all it takes at most about twice as long as the other way, or a few seconds more.

A thread waits for the limit, and then asks the engines to stop until they have: what is asked between two statements
stops none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from types import TracebackType

OVERRUN = 4.0
GRACE = 5.0

AGAIN = 0.1
"""Seconds after which engines are asked again."""


def longest(estimated: float, other: float) -> float:
    """How many seconds a wave may take that has another way.

    >>> longest(0.1, 1.0), longest(3.0, 2.0), longest(3.0, 60.0)
    (5.1, 12.0, 60.0)
    """
    return max(OVERRUN * estimated, estimated + GRACE, other)


@dataclass(slots=True)
class TimeLimit:
    """Stops what is done inside once it has taken too long."""

    seconds: float
    stops: Sequence[Callable[[], object]]
    """What makes each engine stop the statement that it runs, from any thread."""
    is_exceeded: bool = field(init=False, default=False)
    _done: Event = field(init=False, default_factory=Event)
    _thread: Thread = field(init=False)

    def __enter__(self) -> TimeLimit:
        self._thread = Thread(target=self._watch, name="tidings-time-limit", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop nothing from now on."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        wait = self.seconds
        while not self._done.wait(wait):
            self.is_exceeded, wait = True, AGAIN
            for stop in self.stops:
                stop()

"""A limit to the time that a wave may take.

A wave that takes far longer than was estimated is stopped, so that it can be run the other way: once it has taken
:data:`OVERRUN` times its estimate, :data:`GRACE` seconds more than that, and as long as the other way would take.  So
all in all it takes at most about twice as long as the other way, or a few seconds more.

A thread waits for the limits, and asks the engines to stop until they have: what is asked between two statements stops
none.  To start a thread takes as long as a small wave, so there is one for all waves of a database; it ends when there
is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic

OVERRUN = 4.0
GRACE = 5.0

AGAIN = 0.1
"""Seconds after which engines are asked again."""

IDLE = 2.0
"""Seconds after which the thread ends if there was nothing to wait for."""


def longest(estimated: float, other: float) -> float:
    """How many seconds a wave may take that has another way.

    >>> longest(0.1, 1.0), longest(3.0, 2.0), longest(3.0, 60.0)
    (5.1, 12.0, 60.0)
    """
    return max(OVERRUN * estimated, estimated + GRACE, other)


@dataclass(slots=True, eq=False)
class TimeLimit:
    """A limit that is watched."""

    due: float
    stops: Sequence[Callable[[], object]]
    """What makes each engine stop the statement that it runs, from any thread."""
    is_exceeded: bool = False


@dataclass(slots=True)
class Watchdog:
    """Watches the time limits of one database."""

    _limits: list[TimeLimit] = field(init=False, default_factory=list)
    _changed: Condition = field(init=False, default_factory=Condition)
    _is_running: bool = field(init=False, default=False)
    _wakes: float = field(init=False, default=0.0)
    """When the thread looks next."""

    @contextmanager
    def limited(self, seconds: float, stops: Sequence[Callable[[], object]]) -> Iterator[TimeLimit]:
        """Stop what is done inside once it has taken so long; nothing is stopped after it."""
        limit = TimeLimit(monotonic() + seconds, stops)
        try:
            with self._changed:
                self._limits.append(limit)
                if not self._is_running:
                    self._is_running, self._wakes = True, limit.due
                    Thread(target=self._watch, name="tidings-time-limits", daemon=True).start()
                elif limit.due < self._wakes:
                    self._changed.notify()
            yield limit
        finally:
            with self._changed:
                if limit in self._limits:  # unless an interrupt came first
                    self._limits.remove(limit)

    def _watch(self) -> None:
        """Stop what is due until there is nothing to wait for; those who leave wait meanwhile."""
        with self._changed:
            last_used = monotonic()
            while self._limits or monotonic() < last_used + IDLE:
                now = monotonic()
                last_used = now if self._limits else last_used
                for limit in [limit for limit in self._limits if limit.due <= now]:
                    limit.is_exceeded, limit.due = True, now + AGAIN
                    for stop in limit.stops:
                        stop()
                self._wakes = min((limit.due for limit in self._limits), default=last_used + IDLE)
                self._changed.wait(max(0.0, self._wakes - monotonic()))
            self._is_running = False

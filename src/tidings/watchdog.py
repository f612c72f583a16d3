"""Asks what takes too long to stop, until it has.

A thread waits for the limits, and asks again and again: what is asked between two statements of an engine stops none.
To start a thread takes as long as a small wave, so there is one for all limits of a watchdog; it ends when there is
nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic

AGAIN = 0.1
"""Seconds after which engines are asked again."""

IDLE = 2.0
"""Seconds after which the thread ends if there was nothing to wait for."""


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
            self.add(limit)
            yield limit
        finally:
            self.remove(limit)

    def add(self, limit: TimeLimit) -> None:
        """Watch a limit, until it is removed."""
        with self._changed:
            self._limits.append(limit)
            if not self._is_running:
                self._is_running, self._wakes = True, limit.due
                Thread(target=self._watch, name="tidings-time-limits", daemon=True).start()
            elif limit.due < self._wakes:
                self._changed.notify()

    def remove(self, limit: TimeLimit) -> None:
        """Watch a limit no more; once this returns nothing is stopped for it."""
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

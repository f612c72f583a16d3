"""Attempts that are under way: each ends when its time is over, or when all of them are told to end.

A timeout of single reads does not stop a receiver that sends slowly, so the connection of an attempt is ended from
outside.  It is known by a second handle, since the one that is read from changes when it is encrypted.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Timer
from time import monotonic


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt, and the connection it has made, if it has made one."""

    deadline: float
    reason: str | None = None
    """Why it was ended from outside."""
    _handle: socket.socket | None = field(init=False, default=None)
    _mutex: Lock = field(init=False, default_factory=Lock)

    def connect(self, addresses: Sequence[str], port: int) -> socket.socket:
        """A connection to the first address that answers in time."""
        error: OSError = TimeoutError("timed out")
        for address in addresses:
            seconds_left = self.deadline - monotonic()
            if seconds_left <= 0 or self.reason is not None:
                break
            try:
                connection = socket.create_connection((address, port), seconds_left)
            except OSError as failure:
                error = failure
            else:
                self.watch(connection)
                return connection
        raise error

    def watch(self, connection: socket.socket) -> None:
        """Let a connection end with this attempt."""
        with self._mutex:
            self._handle = socket.socket(fileno=os.dup(connection.fileno()))
            if self.reason is not None:
                self._shut()

    def end(self, reason: str) -> None:
        """End the attempt from outside."""
        with self._mutex:
            self.reason = self.reason or reason
            self._shut()

    def close(self) -> None:
        """Let go of the connection, without ending it."""
        with self._mutex:
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _shut(self) -> None:
        if self._handle is not None:
            with suppress(OSError):  # it was closed already
                self._handle.shutdown(socket.SHUT_RDWR)


@dataclass(slots=True)
class Attempts:
    """The attempts of all channels of a database."""

    stopping: Event = field(default_factory=Event)
    """While this is set, nothing is sent."""
    _under_way: set[Attempt] = field(init=False, default_factory=set)
    _mutex: Lock = field(init=False, default_factory=Lock)

    @contextmanager
    def within(self, seconds: float) -> Iterator[Attempt]:
        """An attempt that takes no longer than some seconds; a TimeoutError if it would."""
        attempt = Attempt(monotonic() + seconds)
        timer = Timer(seconds, attempt.end, (f"no answer within {seconds:g} seconds",))
        timer.daemon = True
        with self._mutex:
            self._under_way.add(attempt)
        if self.stopping.is_set():
            attempt.end(_STOPPED)
        timer.start()
        try:
            yield attempt
        except Exception:
            if attempt.reason is None:
                raise
        finally:
            timer.cancel()
            with self._mutex:
                self._under_way.discard(attempt)
            attempt.close()
        if attempt.reason is not None:  # what was cut off may look complete
            raise TimeoutError(attempt.reason)

    def end_all(self) -> None:
        """End what is under way."""
        with self._mutex:
            under_way = list(self._under_way)
        for attempt in under_way:
            attempt.end(_STOPPED)


_STOPPED = "deliveries were stopped before there was an answer"

"""Notices to listeners in the same process.

A listener has a queue of its own with room for a number of notices.  Telling never waits: where there is no room the
oldest notice goes, and the listener finds how many it has missed.  Whoever must miss nothing subscribes to a view
instead, or has a file or a webhook.

A notice nobody listens to is delivered all the same, to nobody.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Any

from tidings.deliver.channel import Arrived, Outcome
from tidings.store.rules.outbox import Message


@dataclass(frozen=True, slots=True)
class Notice:
    """What a rule has to tell."""

    id: str
    channel: str
    rule: str
    firing: int
    time: int
    payload: Any
    """What the JSON of the message says."""


class Listener:
    """The notices of one channel since it was opened; iterate, or :meth:`get` one."""

    def __init__(self, hub: Notify, channel: str, room: int) -> None:
        self.channel = channel
        self.missed = 0
        """How many notices went because there was no room."""
        self._hub, self._room = hub, room
        self._queue: deque[Notice] = deque()
        self._news = Condition()
        self._closed = False

    def get(self, timeout: float | None = None) -> Notice | None:
        """The next notice, waited for up to some seconds; None if there is none, or none will come."""
        with self._news:
            self._news.wait_for(lambda: self._queue or self._closed, timeout)
            return self._queue.popleft() if self._queue else None

    def tell(self, notice: Notice) -> None:
        """Put a notice into the queue, at once."""
        with self._news:
            if self._closed:
                return
            if len(self._queue) >= self._room:
                self._queue.popleft()
                self.missed += 1
            self._queue.append(notice)
            self._news.notify()

    def close(self) -> None:
        """Hear nothing any more; what is in the queue can still be had."""
        self._hub.leave(self)
        with self._news:
            self._closed = True
            self._news.notify_all()

    def __iter__(self) -> Iterator[Notice]:
        while (notice := self.get()) is not None:
            yield notice

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class Notify:
    """The channels of a process and who listens to them; names are taken without regard to case."""

    at_once: bool = field(default=True, init=False)
    _listeners: dict[str, list[Listener]] = field(default_factory=dict)
    _mutex: Lock = field(default_factory=Lock)

    def listen(self, channel: str, room: int = 1024) -> Listener:
        """Hear everything that is told on a channel from now on."""
        made = Listener(self, channel, room)
        with self._mutex:
            self._listeners.setdefault(channel.lower(), []).append(made)
        return made

    def leave(self, listener: Listener) -> None:
        """Let a listener hear nothing any more."""
        with self._mutex:
            left = [one for one in self._listeners.pop(listener.channel.lower(), []) if one is not listener]
            if left:
                self._listeners[listener.channel.lower()] = left

    def send(self, message: Message, now: int) -> Outcome:
        payload = json.loads(message.payload)
        notice = Notice(message.id, message.target, message.rule, message.firing, message.created, payload)
        with self._mutex:
            listeners = list(self._listeners.get(message.target.lower(), []))
        for listener in listeners:
            listener.tell(notice)
        return Arrived()

    def close(self) -> None:
        """End all listeners."""
        with self._mutex:
            listeners = [one for known in self._listeners.values() for one in known]
        for listener in listeners:
            listener.close()

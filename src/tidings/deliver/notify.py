"""The notify channel: notices to listeners in the same process.

Each listener has a queue with room for a number of notices.  Sending never waits: when a queue is full its oldest
notice is dropped, and the listener can see how many it has missed.  Who must not miss any subscribes to a view instead,
or uses a file or a webhook.

A notice without listeners counts as delivered.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Any

from tidings.deliver.channel import Arrived, SendOutcome
from tidings.store.rules.messages import Message


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of a rule, as listeners get it."""

    id: str
    channel: str
    rule: str
    firing: int
    time: int
    payload: Any
    """The payload of the message, decoded from JSON."""


class Listener:
    """The notices of one channel since it was opened; iterate, or :meth:`get` one."""

    def __init__(self, hub: Notify, channel: str, room: int) -> None:
        self.channel = channel
        self.missed = 0
        """How many notices were dropped because the queue was full."""
        self._hub, self._room = hub, room
        self._queue: deque[Notice] = deque()
        self._arrived = Condition()
        self._closed = False

    def get(self, timeout: float | None = None) -> Notice | None:
        """The next notice, waited for up to some seconds; None if there is none, or none will come."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._queue or self._closed, timeout)
            return self._queue.popleft() if self._queue else None

    def put(self, notice: Notice) -> None:
        """Put a notice into the queue, without waiting."""
        with self._arrived:
            if self._closed:
                return
            if len(self._queue) >= self._room:
                self._queue.popleft()
                self.missed += 1
            self._queue.append(notice)
            self._arrived.notify()

    def close(self) -> None:
        """Stop listening; what is in the queue can still be read."""
        self._hub.leave(self)
        with self._arrived:
            self._closed = True
            self._arrived.notify_all()

    def __iter__(self) -> Iterator[Notice]:
        while (notice := self.get()) is not None:
            yield notice

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class Notify:
    """Sends notices to the listeners of a process; names of channels are taken without regard to case."""

    is_instant: bool = field(init=False, default=True)
    _listeners: dict[str, list[Listener]] = field(init=False, default_factory=dict)
    _mutex: Lock = field(init=False, default_factory=Lock)

    def listen(self, channel: str, room: int = 1024) -> Listener:
        """Listen to a channel from now on."""
        listener = Listener(self, channel, room)
        with self._mutex:
            self._listeners.setdefault(channel.lower(), []).append(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove a listener."""
        with self._mutex:
            others = [each for each in self._listeners.pop(listener.channel.lower(), []) if each is not listener]
            if others:
                self._listeners[listener.channel.lower()] = others

    def send(self, message: Message, now: int) -> SendOutcome:
        payload = json.loads(message.payload)
        notice = Notice(message.id, message.target, message.rule, message.firing, message.created, payload)
        with self._mutex:
            listeners = list(self._listeners.get(message.target.lower(), []))
        for listener in listeners:
            listener.put(notice)
        return Arrived()

    def close(self) -> None:
        """Close all listeners."""
        with self._mutex:
            listeners = [listener for channel in self._listeners.values() for listener in channel]
        for listener in listeners:
            listener.close()

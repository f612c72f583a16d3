"""Messages: what a firing has to tell, how each stands in the outbox, and what came of an attempt to deliver it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import StrEnum

from tidings.worker_thread import WorkerStatus

ACTION = "action"
"""The channel of actions that failed; nobody delivers it."""


class MessageState(StrEnum):
    """How a message stands."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    """Given up: too many attempts, or one that can never succeed."""
    DISABLED = "disabled"
    """Its target wants nothing any more."""


def new_id() -> str:
    """An id that no other message has."""
    return f"msg_{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class Message:
    """What a firing has to tell, to whom, and by which channel; ``payload`` is JSON."""

    rule: str
    firing: int
    channel: str
    target: str
    payload: str
    created: int
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A message in the outbox, and what became of it."""

    number: int
    message: Message
    state: MessageState
    attempts: int
    due: int
    """When the next attempt may be made."""
    settled: int | None
    """When it was delivered or given up."""
    error: str | None
    """What was wrong with the last attempt."""
    claimed: int | None = None
    """Since when an attempt is under way."""


Target = tuple[str, str]
"""A channel, and to whom messages go by it."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that is being sent."""

    channel: str
    target: str
    """To whom; of a URL without what may be a token."""
    id: str
    since: int
    """When the attempt began."""
    is_stuck: bool = False
    """Whether it takes much longer than a channel gives a message."""


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """How the thread is doing that delivers, and what is being sent."""

    thread: WorkerStatus = field(default_factory=WorkerStatus)
    sending: tuple[Sending, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A target with a history: disabled since an instant, or resting until one."""

    channel: str
    target: str
    disabled: int | None
    rests: int
    error: str | None


# what came of an attempt


@dataclass(frozen=True, slots=True)
class Delivered:
    """It arrived."""

    entry: OutboxEntry


@dataclass(frozen=True, slots=True)
class Later:
    """It did not arrive; it is retried when it is due.  Its target gets nothing else before ``rests``."""

    entry: OutboxEntry
    due: int
    error: str
    rests: int | None = None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It did not arrive, and is not retried by itself."""

    entry: OutboxEntry
    error: str
    rests: int | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """Its target is there no more, or wants nothing any more."""

    entry: OutboxEntry
    error: str


Verdict = Delivered | Later | GivenUp | Gone

"""Channels: each sends one message at a time to the world outside, and reports the outcome.

A channel has no state.  It does not decide when and how often to try again: it reports what it saw, and
:mod:`tidings.deliver.deliverer` decides.  It is called with no transaction open, perhaps from several threads at once,
and must return in finite time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidings.store.rules.messages import Message


@dataclass(frozen=True, slots=True)
class Arrived:
    """The receiver has the message."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The receiver may have the message or not; a later attempt may succeed."""

    reason: str
    not_before: int | None = None
    """The receiver asks for nothing before this instant."""
    unreachable: bool = False
    """The receiver fails, not this message: other messages to the same target would fail too."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The message was not sent, or not accepted, and no later attempt can change that."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The receiver wants no more messages."""

    reason: str


SendOutcome = Arrived | Failed | Refused | Ended


class Channel(Protocol):
    """Sends messages."""

    @property
    def is_instant(self) -> bool:
        """Whether sending takes next to no time; then the outcomes of many messages are recorded together."""

    def send(self, message: Message, now: int) -> SendOutcome:
        """Send a message; ``now`` is the present in microseconds since the epoch."""

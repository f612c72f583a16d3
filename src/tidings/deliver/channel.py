"""Channels: each sends one message at a time to the world outside, and reports the outcome.

A channel has no state.  It does not decide when and how often to try again: it reports what it saw, and
:mod:`tidings.deliver.deliverer` decides.  It is called with no transaction open, perhaps from several threads at once,
and must return in finite time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidings.masking import plain_reason
from tidings.store.rules.messages import Message


@dataclass(frozen=True, slots=True)
class _NotArrived:
    """Something came between; the reason may be the receiver's words, so it is cut and cleaned."""

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", plain_reason(self.reason))


@dataclass(frozen=True, slots=True)
class Arrived:
    """The receiver has the message."""


@dataclass(frozen=True, slots=True)
class Failed(_NotArrived):
    """The receiver may have the message or not; a later attempt may succeed."""

    not_before: int | None = None
    """The receiver asks for nothing before this instant."""
    unreachable: bool = False
    """The receiver fails, not this message: other messages to the same target would fail too."""


@dataclass(frozen=True, slots=True)
class Refused(_NotArrived):
    """The message was not sent, or not accepted, and no later attempt can change that."""


@dataclass(frozen=True, slots=True)
class Ended(_NotArrived):
    """The receiver wants no more messages."""


SendOutcome = Arrived | Failed | Refused | Ended


class Channel(Protocol):
    """Sends messages."""

    @property
    def is_instant(self) -> bool:
        """Whether sending takes next to no time; then the outcomes of many messages are recorded together."""

    def send(self, message: Message, now: int) -> SendOutcome:
        """Send a message; ``now`` is the present in microseconds since the epoch."""

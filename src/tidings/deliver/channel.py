"""What a channel is: a way to hand one message to the world outside, and to say what came of it.

A channel keeps nothing.  When to try again, how often and for how long is not its business: it says what it saw, and
:mod:`tidings.deliver.deliverer` judges.  It is asked with no transaction open, perhaps from several threads at once,
and must come back in finite time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidings.store.rules.outbox import Message


@dataclass(frozen=True, slots=True)
class Arrived:
    """The other side has it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The other side may have it or not; a later attempt may succeed."""

    reason: str
    not_before: int | None = None
    """The other side wants nothing before this instant."""
    unreachable: bool = False
    """It is the other side that fails, not this message: others to the same target would fare alike."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not sent, or not taken, and no later attempt can change that."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The other side wants nothing any more."""

    reason: str


Outcome = Arrived | Failed | Refused | Ended


class Channel(Protocol):
    """A way to deliver."""

    @property
    def at_once(self) -> bool:
        """Whether sending takes next to no time, so that many outcomes are worth one transaction."""

    def send(self, message: Message, now: int) -> Outcome:
        """Deliver a message; ``now`` is the present in microseconds since the epoch."""

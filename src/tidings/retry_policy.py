"""When to try again: exponential back-off with jitter, a last attempt, and how long a target rests.

The time of the next attempt is stored with the message, so it survives restarts.  Jitter spreads messages that failed
together, so that they are not all tried again at once.
"""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after which waits, in microseconds.  By default twelve attempts take about a day.

    >>> policy = RetryPolicy(jitter=0)
    >>> [policy.wait(n, 0.5) // SECOND for n in range(1, 12)]
    [5, 15, 45, 135, 405, 1215, 3645, 10935, 21600, 21600, 21600]
    """

    attempts: int = 12
    """After this many attempts a message is a dead letter."""
    first: int = 5 * SECOND
    """The wait after the first attempt."""
    factor: int = 3
    """Each wait is so many times as long as the one before."""
    longest: int = 6 * 3600 * SECOND
    """No wait is longer than this."""
    jitter: float = 0.25
    """A wait is longer or shorter by up to this fraction of it."""
    rest: int = 60 * SECOND
    """A target that cannot be reached rests until the failed message is tried again, but no longer than this."""
    longest_rest: int = 24 * 3600 * SECOND
    """A longer ``Retry-After`` is shortened to this."""
    kept: int | None = 7 * 24 * 3600 * SECOND
    """After this time delivered messages are deleted; None keeps them for ever.  Others are never deleted."""

    def wait(self, attempts: int, chance: float) -> int:
        """How long to wait after so many attempts; ``chance`` is a random number in [0, 1)."""
        plain = min(float(self.longest), self.first * float(self.factor) ** min(attempts - 1, 64))
        return round(plain * (1 + self.jitter * (2 * chance - 1)))

"""When to try again: exponential back-off with jitter, a last attempt, and how long a target rests.

The next time is stored with the message, so it holds across restarts.  Jitter keeps messages that failed together from
coming back together.
"""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits in microseconds.  As they are, twelve attempts take about a day.

    >>> policy = RetryPolicy(jitter=0)
    >>> [policy.wait(n, 0.5) // SECOND for n in range(1, 12)]
    [5, 15, 45, 135, 405, 1215, 3645, 10935, 21600, 21600, 21600]
    """

    attempts: int = 12
    """After this many a message is dead."""
    first: int = 5 * SECOND
    factor: int = 3
    longest: int = 6 * 3600 * SECOND
    jitter: float = 0.25
    """A wait is longer or shorter by up to this part of it."""
    rest: int = 60 * SECOND
    """A target that cannot be reached is left alone for as long as the message that found out, up to this."""
    longest_rest: int = 24 * 3600 * SECOND
    """No ``Retry-After`` is taken to be longer than this."""
    kept: int | None = 7 * 24 * 3600 * SECOND
    """For how long what was delivered is known; None is for ever.  What was not delivered is never forgotten."""

    def wait(self, attempts: int, chance: float) -> int:
        """How long to wait after so many attempts; ``chance`` is a random number of [0, 1)."""
        plain = min(float(self.longest), self.first * float(self.factor) ** min(attempts - 1, 64))
        return round(plain * (1 + self.jitter * (2 * chance - 1)))

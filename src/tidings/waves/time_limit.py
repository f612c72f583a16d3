"""A limit to the time that a wave may take.

A wave that takes far longer than was estimated is stopped, so that it can be run the other way: once it has taken
:data:`OVERRUN` times its estimate, :data:`GRACE` seconds more than that, and as long as the other way would take.  So
all in all it takes at most about twice as long as the other way, or a few seconds more.
"""

from __future__ import annotations

OVERRUN = 4.0
GRACE = 5.0


def longest(estimated: float, other: float) -> float:
    """How many seconds a wave may take that has another way.

    >>> longest(0.1, 1.0), longest(3.0, 2.0), longest(3.0, 60.0)
    (5.1, 12.0, 60.0)
    """
    return max(OVERRUN * estimated, estimated + GRACE, other)

"""What has been derived of a recursion for plans that read it."""

from __future__ import annotations

from typing import NamedTuple


class Evaluations(NamedTuple):
    """How often all rows were derived, how many these were together, and how many were derived where few were needed.

    >>> Evaluations().and_all(30).and_some(2)
    Evaluations(times=1, rows=30, some=2)
    """

    times: int = 0
    rows: int = 0
    some: int = 0

    def and_all(self, rows: int) -> Evaluations:
        """After all rows were derived once more."""
        return Evaluations(self.times + 1, self.rows + rows, self.some)

    def and_some(self, rows: int) -> Evaluations:
        """After some rows were derived."""
        return Evaluations(self.times, self.rows, self.some + rows)

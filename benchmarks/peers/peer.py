"""What a benchmark knows of a peer."""

from __future__ import annotations

from typing import Protocol

from benchmarks.measure import Work


class LeftOut(Exception):
    """A peer is not measured; the text is a sentence that says why."""


class Peer(Protocol):
    """A system that watches the inventory's condition."""

    def works(self, transactions: int) -> dict[str, Work]:
        """What to time for a batch of so many transactions, by name; nothing if a smaller batch says as much."""

"""What has been done in memory before the catalog has it.

A wave goes up the network, and each view reads what the ones below it have just become.  So changes are made in memory
first, and recorded together at the end, in one transaction of the catalog.  If that fails, memory goes back to where it
was: it never holds what a crash would lose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidings.store.records import Batch

Act = Callable[[], None]


@dataclass(slots=True)
class Pending:
    """What is to be recorded, how to undo it, and what to do once it is recorded."""

    batch: Batch
    undo: list[Act] = field(default_factory=list)
    after: list[Act] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        batch = self.batch
        parts = (batch.entries, batch.cursors, batch.refilled, batch.failed, batch.outdated, batch.extra_writes)
        return batch.committed is None and not any(parts)

    def roll_back(self) -> None:
        """Let memory be what it was."""
        for act in reversed(self.undo):
            act()

    def finish(self) -> None:
        """Do what had to wait for the catalog."""
        for act in self.after:
            act()

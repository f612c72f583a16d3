"""The turn of one target: some messages that were claimed for it, and how far they have come."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from tidings.masking import masked_url
from tidings.store.rules.messages import OutboxEntry, Sending, Target


@dataclass(slots=True, eq=False)
class Turn:
    """The messages of one target that a worker has."""

    target: Target
    entries: list[OutboxEntry]
    is_cancelled: bool = False
    """Whether no further message is to be sent."""
    attempts: int = 0
    """How many were made."""
    error: Exception | None = None
    """What kept the outcomes from being recorded."""
    _open: dict[int, OutboxEntry] = field(init=False)
    _current: tuple[OutboxEntry, int, float] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._open = {entry.number: entry for entry in self.entries}

    def begin(self, entry: OutboxEntry, now: int) -> None:
        """Note that an attempt begins."""
        self.attempts += 1
        self._current = entry, now, monotonic()

    def settle(self, entries: list[OutboxEntry]) -> None:
        """Note that what became of some messages is recorded."""
        for entry in entries:
            del self._open[entry.number]

    @property
    def open(self) -> list[int]:
        """The numbers of the messages of which nothing is recorded yet."""
        return list(self._open)

    def sending(self, patience: float) -> Sending | None:
        """What is being sent; it is stuck if that takes longer than some seconds."""
        current = self._current
        if current is None:
            return None
        entry, since, began = current
        return Sending(*shown(self.target), entry.message.id, since, monotonic() - began > patience)


def shown(target: Target) -> Target:
    """A target to show: without what may be a token."""
    channel, name = target
    return channel, masked_url(name) if channel == "webhook" else name


def by_target(entries: list[OutboxEntry]) -> list[Turn]:
    """Messages by target, each in order."""
    targets: dict[Target, list[OutboxEntry]] = {}
    for entry in entries:
        targets.setdefault((entry.message.channel, entry.message.target), []).append(entry)
    return [Turn(target, messages) for target, messages in targets.items()]

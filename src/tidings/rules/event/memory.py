"""What a rule remembers of an event that takes several transactions, as the catalog holds it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EventMemory:
    """What a detector remembers at an instant."""

    until: int
    log_needed_from: int
    """The log is read from this instant on."""
    nodes: list[Any]

    @property
    def text(self) -> str:
        """The same as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> EventMemory:
        """What was recorded."""
        return EventMemory(**json.loads(text))

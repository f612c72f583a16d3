"""A firing for tests: what rules will do in the transaction of a commit."""

from __future__ import annotations

import json

from tidings.store.rules.messages import Message
from tidings.store.rules.outbox import Outbox

SECOND = 1_000_000


def fire(outbox: Outbox, *targets: str, channel: str = "webhook", at: int = 0, rule: str = "low_stock") -> list[str]:
    """Add one message per target in one transaction; their ids."""
    made = [
        Message(rule, number, channel, target, json.dumps({"item": number}), at)
        for number, target in enumerate(targets)
    ]
    outbox.add(made)
    return [m.id for m in made]

"""Actions that failed after the commit are tried again, later and later, and given up in the end.

What failed is in the outbox, like a message that did not arrive: how often it was tried, when it is due, and what was
wrong.  So it outlives the process, is listed with the dead letters when it is given up, and can be redelivered.

An action that succeeds at once is never in the outbox.  One whose procedure is not registered has not been tried: it
waits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from tidings.retry_policy import RetryPolicy
from tidings.rules.action.payload import payload
from tidings.rules.action.summary import summary
from tidings.rules.rule import Rule
from tidings.store.rules import outbox
from tidings.store.rules.messages import ACTION, Delivered, GivenUp, Later, Message, OutboxEntry
from tidings.store.rules.outbox import Outbox
from tidings.store.rules.rule_store import Firing, RuleStore, settle


@dataclass(frozen=True, slots=True)
class Retries:
    """The actions of one database that are to be tried again."""

    store: RuleStore
    retry_policy: RetryPolicy
    chance: Callable[[], float] = random.random

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.store.storage.rule_tables)

    def claim_due(self, now: int) -> list[OutboxEntry]:
        """The actions that are to be tried now; the attempt is counted."""
        if not self.outbox.waits(ACTION):
            return []
        self.outbox.recover(ACTION)
        return self.outbox.claim(now, [ACTION])

    def failed(
        self, rule: Rule, firing: Firing, entry: OutboxEntry | None, error: str, now: int, *, is_final: bool
    ) -> None:
        """Record that an action failed, for the first time or again; ``is_final`` if it would always fail."""
        attempts = 1 if entry is None else entry.attempts
        due = None if is_final else self._due(attempts, now)
        with self.store.storage.rule_tables.writing() as connection:
            if entry is None:
                text = payload(rule, firing.id, firing.time, firing.rows)
                message = Message(rule.name, firing.id, ACTION, summary(rule.action), text, now)
                outbox.postpone(connection, message, due, error)
            else:
                verdict = GivenUp(entry, error) if due is None else Later(entry, due, error)
                outbox.acknowledge(connection, now, [verdict])
            settle(connection, firing.id, "failed" if due is None else "retrying", now, error)

    def _due(self, attempts: int, now: int) -> int | None:
        """When the next attempt is due; None if there were enough."""
        if attempts >= self.retry_policy.attempts:
            return None
        return now + self.retry_policy.wait(attempts, self.chance())

    def is_spent(self, entry: OutboxEntry) -> bool:
        """Whether there were enough attempts, the last of which did not come to an end."""
        return entry.attempts > self.retry_policy.attempts


def succeeded(connection: Connection, firing: Firing, entry: OutboxEntry | None, at: int) -> None:
    """Record that an action ran, in the transaction of the catalog that records what it did."""
    settle(connection, firing.id, "done", at)
    if entry is not None:
        outbox.acknowledge(connection, at, [Delivered(entry)])

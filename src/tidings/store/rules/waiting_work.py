"""Whether rules have anything to do that the catalog knows of: actions that wait, and groups whose messages are due.

Every advance asks, and most of the time nothing waits.  So the answer "nothing" is remembered until somebody writes to
the tables of rules; only the writer does, and it is this process.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import exists, or_, select

from tidings.store.catalog import schema
from tidings.store.catalog.transactions import CatalogTransactions
from tidings.store.rules import message_groups
from tidings.store.rules.messages import ACTION, MessageState

_FIRING, _OUTBOX = schema.firing.c, schema.outbox.c
_ACTION_WAITS = select(
    or_(
        exists().where(_FIRING.state == "waiting"),
        exists().where(_OUTBOX.state == MessageState.WAITING, _OUTBOX.channel == ACTION),
    )
)


@dataclass(slots=True)
class WaitingWork:
    """What waits in the catalog of one database."""

    catalog: CatalogTransactions
    _no_actions: int = field(init=False, default=-1)
    """After which write there was no action that waited."""
    _no_groups: tuple[int, int | None] = field(init=False, default=(-1, None))
    """After which write there was no group due, and when the next one is, if there is one."""

    def has_actions(self) -> bool:
        """Whether any action waits, or is to be tried again, due or not."""
        writes = self.catalog.rule_writes
        if writes == self._no_actions:
            return False
        with self.catalog.reading() as connection:
            waits = bool(connection.execute(_ACTION_WAITS).scalar())
        if not waits:
            self._no_actions = writes
        return waits

    def due_groups(self, now: int) -> list[tuple[str, str]]:
        """The groups whose messages are due up to an instant, by rule and key."""
        writes, (known, first) = self.catalog.rule_writes, self._no_groups
        if writes == known and (first is None or now < first):
            return []
        with self.catalog.reading() as connection:
            due = message_groups.due(connection, now)
            if not due:
                self._no_groups = writes, message_groups.next_due(connection, now)
        return due

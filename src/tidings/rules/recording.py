"""What is recorded of rules that fired: firings, messages in the outbox, and rows that wait for their group's message.

All of it is written in one transaction of the catalog: the one that records the commit, where there is a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from tidings.lang.sql.statements.action import Send
from tidings.rules.action.message_groups import MessageComposer, by_group, is_grouped, pace
from tidings.rules.action.payload import payload
from tidings.rules.fired import Fired
from tidings.rules.rule import Rule
from tidings.store.rules import message_groups, outbox
from tidings.store.rules.message_groups import Gathered
from tidings.store.rules.messages import Message
from tidings.store.rules.rule_store import Firing, FiringState, RuleStore, record


@dataclass(slots=True)
class FiringBatch:
    """Firings with what they send."""

    store: RuleStore
    firings: list[Firing] = field(init=False, default_factory=list)
    _messages: list[Message] = field(init=False, default_factory=list)
    _gathered: list[tuple[Rule, list[Gathered]]] = field(init=False, default_factory=list)

    def add(self, fired: Sequence[Fired], time: int, depth: int, now: int) -> None:
        """Add rules that fired at an instant.

        ``depth`` says how many firings led to the transaction; messages are due from ``now`` on.
        """
        for each in fired:
            rule, id, state = each.rule, self.store.next_id(), _state(each)
            if state == "gathered":
                self._gathered.append((rule, by_group(rule, id, time, each.gone, each.rows)))
            elif state == "sent":
                assert isinstance(rule.action, Send)
                text = payload(rule, id, time, each.rows, each.gone)
                self._messages.append(Message(rule.name, id, rule.action.channel, rule.action.target, text, now))
            finished = None if state in ("waiting", "gathered") else time
            self.firings.append(
                Firing(id, rule.name, time, rule.action_coupling, state, each.rows, depth, finished=finished)
            )

    def write(self, connection: Connection) -> None:
        """Record everything in somebody's transaction of the catalog."""
        record(connection, self.firings)
        outbox.add(connection, self._messages)
        for rule, gathered in self._gathered:
            message_groups.gather(connection, gathered, pace(rule), MessageComposer(rule))


def _state(fired: Fired) -> FiringState:
    """The state of a firing when it is recorded."""
    if fired.silenced:
        return "silenced"
    if isinstance(fired.rule.action, Send):
        return "gathered" if is_grouped(fired.rule) else "sent"
    return "done" if fired.ran else "waiting"

"""Does everything that rules have to do after commits, until nothing is left to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.rules.action.message_groups import MessageComposer, pace
from tidings.rules.detached.actions import DetachedActions
from tidings.rules.detached.conditions import DetachedConditions
from tidings.rules.registry import remembers
from tidings.rules.transactions import RuleTransactions
from tidings.store.rules import message_groups
from tidings.store.rules.waiting_work import WaitingWork


@dataclass(slots=True)
class DetachedRules:
    """Judges detached conditions and runs detached actions of one database."""

    transactions: RuleTransactions
    conditions: DetachedConditions = field(init=False)
    actions: DetachedActions = field(init=False)
    _waiting: WaitingWork | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        context = self.transactions.context
        self.actions = DetachedActions(context, self.transactions)
        self.conditions = DetachedConditions(context, self.actions)

    @property
    def _waiting_work(self) -> WaitingWork:
        """What waits in the catalog, which is there once there is a rule."""
        if self._waiting is None:
            self._waiting = WaitingWork(self.transactions.context.storage.rule_tables)
        return self._waiting

    def advance(self) -> None:
        """Judge conditions and run actions until no rule fires any more, then send the groups that are due."""
        while self.conditions.judge() | (self._waiting_work.has_actions() and self.actions.run_waiting()):
            pass
        self._record_events()
        self._send_due_groups()

    def _record_events(self) -> None:
        """Record what rules remember of their events, so that the log is not needed any more."""
        context = self.transactions.context
        for rule in context.registry.rules():
            if remembers(rule):
                until = rule.cursor if rule.condition_coupling == "detached" else context.timeline.time
                memory = context.detection.to_record(rule, max(until, rule.record.began))
                if memory is not None:
                    context.registry.remember(rule, memory)

    def _send_due_groups(self) -> None:
        """Send the messages of groups, where they are due."""
        context = self.transactions.context
        now = context.timeline.now()
        due = self._waiting_work.due_groups(now)
        if not due:
            return
        rules = {r.name.lower(): r for r in context.registry.rules()}
        groups = [(rules[name.lower()], name, key) for name, key in due if name.lower() in rules]
        if not groups:
            return
        context.timeline.settle_until(now)
        with context.storage.rule_tables.writing() as connection:
            for rule, name, key in groups:
                message_groups.write_due(connection, name, key, now, pace(rule), MessageComposer(rule))
        context.wake_deliveries()

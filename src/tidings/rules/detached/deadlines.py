"""Knows when rules have something to do although nothing is committed.

Deadlines of instances, messages that are gathered and actions that are tried again have their instants in the catalog.
``EVERY`` and ``AT`` follow from the rule; time that is counted from other events, from what the rule remembers of
these.  When the answer of a condition that reads the clock changes next is not known without asking for it, so such
rules are judged tick by tick.
"""

from __future__ import annotations

from tidings.lang.sql.statements.event import At, Cron, Event, Every, walk
from tidings.rules.context import RuleContext
from tidings.rules.event.occurrence import next_cron_tick
from tidings.store.rules import instances, message_groups
from tidings.store.rules.messages import ACTION
from tidings.store.rules.outbox import Outbox


def next_deadline(context: RuleContext, after: int, tick: int) -> int | None:
    """The first instant after another at which rules have something to do; None if there is none.

    ``tick`` is the time between two looks at conditions that read the clock.
    """
    if not context.registry.records:
        return None
    rules = [r for r in context.registry.rules() if r.record.enabled and r.condition_coupling == "detached"]
    catalog = context.storage.rule_tables
    with catalog.reading() as connection:
        instance_due = instances.next_due(connection, [r.id for r in rules if r.has_lifecycle], after)
        group_due = message_groups.next_due(connection, after)
    retry_due = Outbox(catalog).next_due([ACTION], after)
    events = [next_instant(rule.event, after) for rule in rules if rule.event is not None]
    events += [context.detection.due(rule, after) for rule in rules]
    ticks = [after + tick for rule in rules if rule.reads_clock]
    return earliest(instance_due, group_due, retry_due, *events, *ticks)


def next_instant(event: Event, after: int) -> int | None:
    """The first instant after another that the clock reaches and an event names; None if there is none."""

    def of_part(part: Event) -> int | None:
        match part:
            case Every(interval=interval):
                return (after // interval + 1) * interval
            case Cron(text=text):
                return next_cron_tick(text, after)
            case At(instant=instant):
                return instant if instant > after else None
            case _:
                return None

    return earliest(*map(of_part, walk(event)))


def earliest(*instants: int | None) -> int | None:
    """The first of some instants; None stands for never."""
    return min((instant for instant in instants if instant is not None), default=None)


def is_retried(context: RuleContext) -> bool:
    """Whether a condition could not be judged, and is tried again by whoever advances next."""
    failing = context.registry.failing() if context.registry.records else set[int]()
    return any(r.id in failing and r.record.enabled for r in context.registry.rules()) if failing else False

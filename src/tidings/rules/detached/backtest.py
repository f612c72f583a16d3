"""Backtests: for what a rule would have fired over retained history, transaction by transaction.  No action runs.

What the rule's own action would have changed is not known, nor what other rules would have done then.

Without an instant to start from it starts at the oldest one that is retained: where the first table that the rule reads
or waits for forgets what was before.  How much there is to evaluate is logged first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidings.clock import instant
from tidings.errors import InvalidRule
from tidings.rules.condition import committed
from tidings.rules.context import RuleContext
from tidings.rules.event.check import needs_order
from tidings.rules.event.happening import Happening
from tidings.rules.instance.tracking import InstanceTracker
from tidings.rules.rule import Rule
from tidings.store.relation.table import Table


@dataclass(frozen=True, slots=True)
class Backtested:
    """For what a rule would have fired at an instant."""

    time: int
    rows: list[dict[str, Any]]


_logger = logging.getLogger("tidings.rules")


def backtest(context: RuleContext, rule: Rule, since: int | None = None) -> list[Backtested]:
    """For what a rule would have fired since an instant, in order; without one, over all that is retained."""
    if needs_order(rule.event):
        reason = "the order of what transactions did is not kept"
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
    timeline = context.timeline
    until = timeline.settle_until(timeline.now()) if rule.depends_on_time else timeline.time
    tables = _tables(context, rule)
    since = _oldest_retained(tables, until) if since is None else since
    if since >= until:
        return []
    happenings = None if rule.event is None else context.detection.replayed(rule, since, until)
    _log_size(rule, tables, since, until, happenings)
    if rule.has_lifecycle:
        replayed = InstanceTracker(context.storage, context.scheduler, context.detection).replay(rule, since, until)
        return [Backtested(at, fired.rows.to_pylist()) for at, fired in replayed]
    by_instant = committed.firing_rows_by_instant(context.scheduler, rule, since, until, happenings)
    return [Backtested(at, rows.to_pylist()) for at, rows in by_instant if rows.num_rows and rule.is_effective(at)]


def _tables(context: RuleContext, rule: Rule) -> list[Table]:
    """The tables that a rule reads or waits for; all tables if it does neither."""
    relations = context.scheduler.relations
    names = rule.influents | rule.event_tables or relations.primary_keys().keys()
    return [relations.table(name) for name in names]


def _oldest_retained(tables: list[Table], until: int) -> int:
    """The oldest instant at which it is known what tables held, or the one before anything happened to them."""
    forgotten = max((table.forgotten for table in tables), default=0)
    if forgotten:
        return forgotten
    return min((times[0] - 1 for table in tables if (times := table.history.times(0, until))), default=until)


def _log_size(rule: Rule, tables: list[Table], since: int, until: int, happenings: Sequence[Happening] | None) -> None:
    """Say how much will be evaluated."""
    if happenings is not None:
        number = len({happening.end for happening in happenings})
    else:
        number = len({time for table in tables for time in table.history.times(since, until)})
    _logger.info("Backtest of rule %s since %s: %d instants to evaluate", rule.name, instant(since), number)

"""Backtests: for what a rule would have fired over retained history, transaction by transaction.  No action runs.

What the rule's own action would have changed is not known, nor what other rules would have done then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidings.errors import InvalidRule
from tidings.rules.condition import committed
from tidings.rules.context import RuleContext
from tidings.rules.instance.tracking import InstanceTracker
from tidings.rules.rule import Rule, needs_order


@dataclass(frozen=True, slots=True)
class Backtested:
    """For what a rule would have fired at an instant."""

    time: int
    rows: list[dict[str, Any]]


def backtest(context: RuleContext, rule: Rule, since: int) -> list[Backtested]:
    """For what a rule would have fired since an instant, in order."""
    if needs_order(rule.event):
        reason = "the order of what transactions did is not kept"
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
    timeline = context.timeline
    until = timeline.settle_until(timeline.now()) if rule.depends_on_time else timeline.time
    if since >= until:
        return []
    if rule.has_lifecycle:
        replayed = InstanceTracker(context.storage, context.scheduler).replay(rule, since, until)
        return [Backtested(at, fired.rows.to_pylist()) for at, fired in replayed]
    by_instant = committed.firing_rows_by_instant(context.scheduler, rule, since, until)
    return [Backtested(at, rows.to_pylist()) for at, rows in by_instant if rows.num_rows and rule.is_effective(at)]

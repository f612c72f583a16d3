"""Conditions on a state: what holds when an event happens.

A condition that reads rows of the event is evaluated for each way in which the event happened, by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

import pyarrow as pa

from tidings.ir.relation import Relation
from tidings.rules.condition.evaluate import changes_relation, either
from tidings.rules.condition.transaction_slice import NetEntries, TransactionSlice
from tidings.rules.event.happening import Happening
from tidings.rules.event.rows import event_rows
from tidings.rules.rule import Rule
from tidings.waves.scheduler import Scheduler

Answer = Callable[[Relation, NetEntries], pa.Table]
"""Evaluates a plan, given the rows of relations that are not in the catalog."""


def holding(
    scheduler: Scheduler,
    rule: Rule,
    tx_slice: TransactionSlice,
    happenings: Sequence[Happening],
    answer: Answer,
    *,
    is_open: bool,
) -> pa.Table:
    """The instances that hold when an event happens, in some ways, in a slice of a transaction that may be open."""
    changes = changes_relation(scheduler, rule, tx_slice)
    if not rule.condition.event_rows:
        return answer(rule.instances, changes)
    open_slice = tx_slice if is_open else None
    parts = [
        answer(rule.instances, changes | event_rows(scheduler, rule, happening, open_slice)) for happening in happenings
    ]
    return reduce(partial(either, rule), parts)

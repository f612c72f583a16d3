"""Message groups: instances that are sent together, in one message.

    instances    × × ×      ×  ×    ×
    messages     ├────▶ 1   ├────▶        2
                  wait  ├──── interval ──▶

A rule with ``group_by``, ``group_wait``, ``group_interval`` or ``group_at`` sends a message per group of instances, not
one per firing; with ``group_at`` at the instants of a cron text.  The rows of a group have the same values in the
columns of ``group_by``; with none all rows are one group.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from tidings.errors import InvalidRule, UnknownColumn, closest
from tidings.lang.sql.statements.action import Send
from tidings.rules.action.payload import as_json, envelope
from tidings.rules.event.occurrence import next_cron_tick
from tidings.rules.rule import Rule
from tidings.store.rules.message_groups import Gathered, Pace
from tidings.store.rules.messages import Message


def check(rule: Rule) -> None:
    """Refuse groups of a rule that sends nothing, and groups by columns that are not there."""
    gather = rule.options.gather
    if gather is None:
        return
    if not isinstance(rule.action, Send):
        reason = "what is gathered is sent: by NOTIFY, WEBHOOK, FILE or MAIL"
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
    names = [f.name for f in rule.condition.plan.fields]
    for column in gather.by:
        if column.lower() not in {n.lower() for n in names}:
            raise UnknownColumn(rule.statement.place, closest(column, names), name=column)


def is_grouped(rule: Rule) -> bool:
    """Whether a rule sends a message per group."""
    return rule.options.gather is not None


def pace(rule: Rule) -> Pace:
    """When the messages of a rule's groups are due; one without groups sends what is left of them at once."""
    gather = rule.options.gather
    if gather is None:
        return Pace(0, 0)
    tick = None if gather.at is None else partial(next_cron_tick, gather.at)
    return Pace(gather.wait, gather.interval, tick)


def by_group(rule: Rule, firing: int, time: int, gone: bool, rows: pa.Table) -> list[Gathered]:
    """The rows of a firing by group, each in the order of the rows."""
    gather = rule.options.gather
    assert gather is not None
    names = {f.name.lower(): f.name for f in rule.condition.plan.fields}
    columns = [names[c.lower()] for c in gather.by]
    places: dict[str, list[int]] = {}
    values = rows.select(columns).to_pylist() if columns else [{}] * rows.num_rows
    for place, row in enumerate(values):
        places.setdefault(as_json(row), []).append(place)
    return [
        Gathered(rule.name, key, firing, time, gone, rows.take(pa.array(group_places, pa.int64())))
        for key, group_places in places.items()
    ]


@dataclass(frozen=True, slots=True)
class MessageComposer:
    """Writes the messages of a rule's groups."""

    rule: Rule

    def __call__(self, key: str, due: int, gathered: Sequence[Gathered]) -> Message:
        """The message of a group, from its key, the instant it is due, and what was gathered."""
        rule, action = self.rule, self.rule.action
        assert isinstance(action, Send)
        data = {"rule": rule.name, "when": rule.when, "group": json.loads(key)}
        data["firings"] = list(dict.fromkeys(g.firing for g in gathered))
        data["rows"] = [row for g in gathered if not g.gone for row in g.rows.to_pylist()]
        if rule.options.resolved:
            data["gone"] = [row for g in gathered if g.gone for row in g.rows.to_pylist()]
        text = envelope(rule, due, data)
        return Message(rule.name, gathered[0].firing, action.channel, action.target, text, due)

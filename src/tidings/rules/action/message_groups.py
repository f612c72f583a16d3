"""Gathering: instances that are told together, in one message.

    instances    × × ×      ×  ×    ×
    messages     ├────▶ 1   ├────▶        2
                  wait  ├──── interval ──▶

A rule with ``group_by``, ``group_wait`` or ``group_interval`` sends a message per group of instances, not one per
firing.  The rows of a group have the same values in the columns of ``group_by``; with none all rows are one group.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidings.clock import instant
from tidings.errors import InvalidRule, UnknownColumn, closest
from tidings.lang.sql.statements.rule import Send
from tidings.rules.action.run import as_json
from tidings.rules.rule import Rule
from tidings.store.rules.message_groups import Compose, Gathered, Pace
from tidings.store.rules.outbox import Message


def check(rule: Rule) -> None:
    """Refuse to gather what is not sent, and by columns that are not there."""
    gather = rule.options.gather
    if gather is None:
        return
    if not isinstance(rule.statement.action, Send):
        reason = "what is gathered is sent: by NOTIFY, WEBHOOK, FILE or MAIL"
        raise InvalidRule(rule.statement.place, name=rule.name, reason=reason)
    names = [f.name for f in rule.plan.fields]
    for wanted in gather.by:
        if wanted.lower() not in {n.lower() for n in names}:
            raise UnknownColumn(rule.statement.place, closest(wanted, names), name=wanted)


def gathers(rule: Rule) -> bool:
    """Whether what a rule has to tell is gathered."""
    return rule.options.gather is not None


def pace(rule: Rule) -> Pace:
    """When messages of a rule's groups are due; one that does not gather any more tells what is left at once."""
    gather = rule.options.gather
    return Pace(0, 0) if gather is None else Pace(gather.wait, gather.interval)


def parted(rule: Rule, firing: int, time: int, gone: bool, rows: pa.Table) -> list[Gathered]:
    """The rows of a firing by group, each in the order of the rows."""
    gather = rule.options.gather
    assert gather is not None
    names = {f.name.lower(): f.name for f in rule.plan.fields}
    columns = [names[c.lower()] for c in gather.by]
    places: dict[str, list[int]] = {}
    values = rows.select(columns).to_pylist() if columns else [{}] * rows.num_rows
    for place, row in enumerate(values):
        places.setdefault(as_json(row), []).append(place)
    return [
        Gathered(rule.name, key, firing, time, gone, rows.take(pa.array(some, pa.int64())))
        for key, some in places.items()
    ]


@dataclass(frozen=True, slots=True)
class Composer:
    """Writes the messages of a rule's groups."""

    rule: Rule

    def __call__(self, key: str, due: int, told: Sequence[Gathered]) -> Message:
        action, when = self.rule.statement.action, self.rule.when
        assert isinstance(action, Send)
        data = {"rule": self.rule.name, "when": when, "group": json.loads(key)}
        data["firings"] = list(dict.fromkeys(g.firing for g in told))
        data["rows"] = [row for g in told if not g.gone for row in g.rows.to_pylist()]
        if self.rule.options.resolved:
            data["gone"] = [row for g in told if g.gone for row in g.rows.to_pylist()]
        whole = {"type": f"rule.{self.rule.name}", "timestamp": instant(due).isoformat(), "data": data}
        text = as_json(whole)
        return Message(self.rule.name, told[0].firing, action.channel, action.target, text, due)


def composed(rule: Rule) -> Compose:
    """How the messages of a rule's groups are written."""
    return Composer(rule)

"""Groups of instances that are told together, as the catalog holds them.

A firing of a rule that gathers leaves its rows here, by group.  A group's message is due a while after its first row,
and not too soon after its last message.  When it is due, it takes what was gathered up to that instant, and no more: so
what is in which message does not depend on when somebody looks.

All of it is done in the caller's transaction: rows leave this table in the one that puts the message into the outbox.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from tidings.store.catalog import schema
from tidings.store.fault_points import point
from tidings.store.files import pack, unpack
from tidings.store.rules import outbox
from tidings.store.rules.messages import Message

TOLD = "group.told"
"""A point to die at: a group's message is written, and what it tells is not gathered any more."""

_GD, _GG = schema.gathered, schema.gathering


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows of a firing that wait for their group's message."""

    rule: str
    key: str
    """The values that say which group it is, as JSON."""
    firing: int
    time: int
    gone: bool
    rows: pa.Table


Compose = Callable[[str, int, Sequence[Gathered]], Message]
"""The message of a group, from its key, the instant it is due, and what it tells."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a group's first message waits for more, and how far messages are apart, in microseconds."""

    wait: int
    interval: int


def gather(connection: Connection, found: Sequence[Gathered], pace: Pace, compose: Compose) -> int:
    """Take in what firings have to tell, in the order of time; how many messages became due, and are written."""
    sent = 0
    for one in found:
        sent += _tell(connection, one.rule, one.key, one.time - 1, pace, compose)
        this = and_(_GG.c.rule == one.rule, _GG.c.key == one.key)
        group = connection.execute(select(_GG).where(this)).first()
        values = {"firing": one.firing, "time": one.time, "gone": int(one.gone), "inline": pack(one.rows)}
        connection.execute(insert(_GD).values(rule=one.rule, key=one.key, **values))
        if group is None:
            due = one.time + pace.wait
            connection.execute(insert(_GG).values(rule=one.rule, key=one.key, due=due, sent=None))
        elif group.due is None:
            connection.execute(update(_GG).where(this).values(due=_next(one.time, group.sent, pace)))
    for rule, key, last in {(g.rule, g.key): (g.rule, g.key, g.time) for g in found}.values():
        sent += _tell(connection, rule, key, last, pace, compose)
    return sent


def due(connection: Connection, until: int) -> list[tuple[str, str]]:
    """The groups whose messages are due up to an instant, by rule and key."""
    wanted = select(_GG.c.rule, _GG.c.key).where(_GG.c.due <= until).order_by(_GG.c.due, _GG.c.rule, _GG.c.key)
    return [(r.rule, r.key) for r in connection.execute(wanted).all()]


def tell(connection: Connection, rule: str, key: str, until: int, pace: Pace, compose: Compose) -> int:
    """Write the messages of a group that are due up to an instant; how many these are."""
    return _tell(connection, rule, key, until, pace, compose)


def _tell(connection: Connection, rule: str, key: str, until: int, pace: Pace, compose: Compose) -> int:
    this, sent = and_(_GG.c.rule == rule, _GG.c.key == key), 0
    while True:
        group = connection.execute(select(_GG).where(this)).first()
        if group is None or group.due is None or group.due > until:
            return sent
        waiting = connection.execute(
            select(_GD).where(_GD.c.rule == rule, _GD.c.key == key).order_by(_GD.c.time, _GD.c.firing)
        ).all()
        told = [_gathered(r) for r in waiting if r.time <= group.due]
        rest = [r.time for r in waiting if r.time > group.due]
        outbox.add(connection, [compose(key, group.due, told)])
        numbers = [g.firing for g in told]
        connection.execute(delete(_GD).where(_GD.c.rule == rule, _GD.c.key == key, _GD.c.firing.in_(numbers)))
        _settle(connection, numbers, group.due)
        next_due = _next(rest[0], group.due, pace) if rest else None
        connection.execute(update(_GG).where(this).values(due=next_due, sent=group.due))
        point(TOLD)
        sent += 1


def _next(first: int, sent: int | None, pace: Pace) -> int:
    """When the next message of a group is due, from the first row it has to tell and its last message."""
    return max(first + pace.wait, 0 if sent is None else sent + pace.interval)


def _settle(connection: Connection, firings: Sequence[int], at: int) -> None:
    """Firings are sent once no group has anything of them left to tell."""
    left = select(_GD.c.firing).where(_GD.c.firing.in_(firings))
    these = and_(schema.firing.c.id.in_(firings), schema.firing.c.id.not_in(left))
    connection.execute(update(schema.firing).where(these).values(state="sent", finished=at))


def drop(connection: Connection, rule: str) -> None:
    """Forget what a rule has gathered, in the caller's transaction."""
    for table in (_GD, _GG):
        connection.execute(delete(table).where(func.lower(table.c.rule) == rule.lower()))


def forget(connection: Connection, before: int) -> None:
    """Forget groups that have told nothing since an instant and have nothing to tell."""
    connection.execute(delete(_GG).where(_GG.c.due.is_(None), _GG.c.sent < before))


def _gathered(r: Row[tuple[object, ...]]) -> Gathered:
    return Gathered(r.rule, r.key, r.firing, r.time, bool(r.gone), unpack(r.inline))

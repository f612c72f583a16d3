"""Groups of instances that share messages, as the catalog holds them.

A firing of a rule that groups its messages leaves its rows here, by group.  A group's message is due a while after its
first row, not too soon after its last message, and perhaps only at certain instants.  It takes the rows up to the
instant it is due, and no more: so what is in which message does not depend on when somebody looks.

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
"""A point to die at: a group's message is written, and its rows wait no more."""

_ROWS, _GROUPS = schema.gathered, schema.gathering


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
"""The message of a group, from its key, the instant it is due, and its rows."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a group's first message waits for more, and how far messages are apart, in microseconds."""

    wait: int
    interval: int
    tick: Callable[[int], int] | None = None
    """The first instant after another at which messages may be sent; None if they may at any."""

    def due(self, first: int, sent: int | None) -> int:
        """When the next message of a group is due, from its first waiting row and its last message."""
        due = max(first + self.wait, 0 if sent is None else sent + self.interval)
        return due if self.tick is None else self.tick(due - 1)


def gather(connection: Connection, waiting: Sequence[Gathered], pace: Pace, compose: Compose) -> int:
    """Add rows of firings to their groups, in the order of time, and write the messages that become due.

    Returns the number of messages.
    """
    sent = 0
    for entry in waiting:
        sent += write_due(connection, entry.rule, entry.key, entry.time - 1, pace, compose)
        is_group = and_(_GROUPS.c.rule == entry.rule, _GROUPS.c.key == entry.key)
        group = connection.execute(select(_GROUPS).where(is_group)).first()
        values = {"firing": entry.firing, "time": entry.time, "gone": int(entry.gone), "inline": pack(entry.rows)}
        connection.execute(insert(_ROWS).values(rule=entry.rule, key=entry.key, **values))
        if group is None:
            due = pace.due(entry.time, None)
            connection.execute(insert(_GROUPS).values(rule=entry.rule, key=entry.key, due=due, sent=None))
        elif group.due is None:
            connection.execute(update(_GROUPS).where(is_group).values(due=pace.due(entry.time, group.sent)))
    for rule, key, last in {(g.rule, g.key): (g.rule, g.key, g.time) for g in waiting}.values():
        sent += write_due(connection, rule, key, last, pace, compose)
    return sent


def due(connection: Connection, until: int) -> list[tuple[str, str]]:
    """The groups whose messages are due up to an instant, by rule and key."""
    query = (
        select(_GROUPS.c.rule, _GROUPS.c.key)
        .where(_GROUPS.c.due <= until)
        .order_by(_GROUPS.c.due, _GROUPS.c.rule, _GROUPS.c.key)
    )
    return [(r.rule, r.key) for r in connection.execute(query).all()]


def next_due(connection: Connection, after: int) -> int | None:
    """The first instant after another at which the message of a group is due."""
    return connection.execute(select(func.min(_GROUPS.c.due)).where(_GROUPS.c.due > after)).scalar()


def write_due(connection: Connection, rule: str, key: str, until: int, pace: Pace, compose: Compose) -> int:
    """Write the messages of a group that are due up to an instant; how many these are."""
    is_group, sent = and_(_GROUPS.c.rule == rule, _GROUPS.c.key == key), 0
    while True:
        group = connection.execute(select(_GROUPS).where(is_group)).first()
        if group is None or group.due is None or group.due > until:
            return sent
        waiting = connection.execute(
            select(_ROWS).where(_ROWS.c.rule == rule, _ROWS.c.key == key).order_by(_ROWS.c.time, _ROWS.c.firing)
        ).all()
        ready = [_gathered(r) for r in waiting if r.time <= group.due]
        later_times = [r.time for r in waiting if r.time > group.due]
        outbox.add(connection, [compose(key, group.due, ready)])
        numbers = [g.firing for g in ready]
        connection.execute(delete(_ROWS).where(_ROWS.c.rule == rule, _ROWS.c.key == key, _ROWS.c.firing.in_(numbers)))
        _settle(connection, numbers, group.due)
        next_due = pace.due(later_times[0], group.due) if later_times else None
        connection.execute(update(_GROUPS).where(is_group).values(due=next_due, sent=group.due))
        point(TOLD)
        sent += 1


def _settle(connection: Connection, firings: Sequence[int], at: int) -> None:
    """Mark firings as sent that have no waiting rows left."""
    left = select(_ROWS.c.firing).where(_ROWS.c.firing.in_(firings))
    is_complete = and_(schema.firing.c.id.in_(firings), schema.firing.c.id.not_in(left))
    connection.execute(update(schema.firing).where(is_complete).values(state="sent", finished=at))


def drop(connection: Connection, rule: str) -> None:
    """Forget the groups of a rule and their rows, in the caller's transaction."""
    for table in (_ROWS, _GROUPS):
        connection.execute(delete(table).where(func.lower(table.c.rule) == rule.lower()))


def forget(connection: Connection, before: int) -> None:
    """Forget groups that have sent nothing since an instant and have no waiting rows."""
    connection.execute(delete(_GROUPS).where(_GROUPS.c.due.is_(None), _GROUPS.c.sent < before))


def _gathered(r: Row[tuple[object, ...]]) -> Gathered:
    return Gathered(r.rule, r.key, r.firing, r.time, bool(r.gone), unpack(r.inline))

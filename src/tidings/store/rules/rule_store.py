"""Rules and what they did, as the catalog holds them.

A rule is recorded by its text.  A firing is recorded in the transaction of the catalog that records the commit it
belongs to: there are both or neither.  One whose action runs later waits in its state, and is settled in the
transaction of the commit that the action makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, or_, select, update

from tidings.store.catalog import schema
from tidings.store.fault_points import point
from tidings.store.files import pack, unpack
from tidings.store.rules import instances, message_groups
from tidings.store.rules.messages import ACTION
from tidings.store.storage import Storage

FiringState: TypeAlias = Literal["done", "waiting", "retrying", "gathered", "sent", "silenced", "failed"]
"""The action ran; it is to run; it failed and is to be retried; its rows wait for their group's message; its
message is in the outbox; a silence suppresses its message; it failed for good."""

FIRED, SETTLED = "firing.written", "firing.settled"
"""Points to die at: a firing is written, and what became of one is."""


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """A rule as the catalog knows it."""

    id: int
    name: str
    text: str
    enabled: bool
    created: int
    began: int
    """When it was created or last enabled: nothing before counts."""
    until: int
    """How far one that is judged after commits has come."""
    error: str | None = None
    remembered: str | None = None
    """What it remembers of an event that takes several transactions, as JSON."""


@dataclass(frozen=True, slots=True)
class Firing:
    """What a rule did, or is to do: for which rows, at which commit."""

    id: int
    rule: str
    time: int
    coupling: str
    state: FiringState
    rows: pa.Table
    depth: int = 0
    error: str | None = None
    finished: int | None = None


@dataclass(slots=True)
class RuleStore:
    """The rules of one database."""

    storage: Storage
    _last: int | None = field(init=False, default=None)

    # rules

    def rules(self) -> list[RuleRecord]:
        """All rules, in the order they were made."""
        with self.storage.rule_tables.reading() as connection:
            rows = connection.execute(select(schema.rule).order_by(schema.rule.c.id)).all()
        return [
            RuleRecord(r.id, r.name, r.text, bool(r.enabled), r.created, r.began, r.until, r.error, r.remembered)
            for r in rows
        ]

    def create(self, rule: RuleRecord) -> None:
        """Keep a rule, in the place of one of the same number."""
        with self.storage.rule_tables.writing() as connection:
            create(connection, rule)

    def drop(self, id: int) -> None:
        """Forget a rule; what it did stays known, what it had still to do is not done."""
        name = select(schema.rule.c.name).where(schema.rule.c.id == id).scalar_subquery()
        waiting = (schema.firing.c.rule == name) & schema.firing.c.state.in_(("waiting", "retrying", "gathered"))
        with self.storage.rule_tables.writing() as connection:
            instances.untrack(connection, [id])
            message_groups.drop(connection, connection.execute(select(name)).scalar_one())
            connection.execute(delete(schema.silence).where(schema.silence.c.rule == name))
            gone = {"state": "failed", "error": "the rule was dropped"}
            connection.execute(update(schema.firing).where(waiting).values(**gone))
            sent = schema.outbox.c
            retries = and_(sent.rule == name, sent.channel == ACTION, sent.state == "waiting")
            connection.execute(
                update(schema.outbox).where(retries).values(state="dead", claimed=None, error=gone["error"])
            )
            connection.execute(delete(schema.rule).where(schema.rule.c.id == id))

    def switch(self, id: int, *, on: bool, at: int) -> None:
        """Enable a rule, from an instant on, or disable it."""
        values = {"enabled": 1, "began": at, "until": at, "remembered": None, "error": None} if on else {"enabled": 0}
        with self.storage.rule_tables.writing() as connection:
            connection.execute(update(schema.rule).where(schema.rule.c.id == id).values(**values))
            if on:
                instances.untrack(connection, [id], forget=False)

    def remember(self, id: int, remembered: str) -> None:
        """Record what a rule remembers of its event."""
        with self.storage.rule_tables.writing() as connection:
            connection.execute(update(schema.rule).where(schema.rule.c.id == id).values(remembered=remembered))

    def fail(self, id: int, error: str | None) -> None:
        """Note what is wrong with a rule, or that nothing is."""
        with self.storage.rule_tables.writing() as connection:
            connection.execute(update(schema.rule).where(schema.rule.c.id == id).values(error=error))

    # firings

    def next_id(self) -> int:
        """The number of a new firing."""
        if self._last is None:
            with self.storage.rule_tables.reading() as connection:
                self._last = int(connection.execute(select(func.max(schema.firing.c.id))).scalar() or 0)
        self._last += 1
        return self._last

    def firings(self, *states: FiringState) -> list[Firing]:
        """Firings in their order: all, or those in some states."""
        query = select(schema.firing).order_by(schema.firing.c.id)
        if states:
            query = query.where(schema.firing.c.state.in_(states))
        with self.storage.rule_tables.reading() as connection:
            rows = connection.execute(query).all()
        return [_firing(r) for r in rows]

    def firing(self, id: int) -> Firing | None:
        """The firing of a number."""
        with self.storage.rule_tables.reading() as connection:
            row = connection.execute(select(schema.firing).where(schema.firing.c.id == id)).first()
        return None if row is None else _firing(row)

    def depths(self, since: int, until: int) -> dict[int, int]:
        """How many firings led to transactions in ``(since, until]``, by their instants; those of users are left out.

        An action that ran in a transaction of its own ended later than what triggered it.
        """
        firing = schema.firing.c
        finished_inside = and_(firing.state == "done", firing.finished > since, firing.finished <= until)
        query = select(firing.finished, firing.time, firing.depth).where(finished_inside)
        depths: dict[int, int] = {}
        with self.storage.rule_tables.reading() as connection:
            for finished, time, depth in connection.execute(query).all():
                depths[finished] = max(depth + (finished > time), depths.get(finished, 0))
        return depths

    def troubles(self) -> dict[str, str]:
        """What is wrong with what rules did or sent, by their names: it is retried, or was the last to be tried."""
        firing, sent = schema.firing.c, schema.outbox.c
        lost = or_(sent.state == "dead", sent.state == "disabled")
        queries = {
            "done": select(firing.rule, func.max(firing.id)).where(firing.state == "done").group_by(firing.rule),
            "sent": select(sent.rule, func.max(sent.firing)).where(sent.state == "delivered").group_by(sent.rule),
            "lost": select(sent.rule, sent.firing, sent.error).where(lost).order_by(sent.number),
            "late": select(sent.rule, sent.error).where(sent.state == "waiting", sent.error.is_not(None)),
            "waits": select(firing.rule, firing.error).where(firing.state == "waiting", firing.error.is_not(None)),
        }
        with self.storage.rule_tables.reading() as connection:
            rows = {name: connection.execute(query).all() for name, query in queries.items()}
        well: dict[str, int] = {}
        for rule, id in (*rows["done"], *rows["sent"]):
            well[rule] = max(id, well.get(rule, id))
        lately = [(rule, error) for rule, id, error in rows["lost"] if id > well.get(rule, -1)]
        return {rule: error for rule, error, *_ in (*lately, *rows["late"], *rows["waits"])}

    def forget(self, before: int) -> None:
        """Forget what was done before an instant, but not what waits, nor the last: no number comes twice."""
        last = select(func.max(schema.firing.c.id)).scalar_subquery()
        of_action, delivered = schema.outbox.c.channel == ACTION, schema.outbox.c.state == "delivered"
        is_retried = exists().where(schema.outbox.c.firing == schema.firing.c.id, of_action, ~delivered)
        over = schema.firing.c.state.not_in(("waiting", "retrying", "gathered")) & ~is_retried
        old = (schema.firing.c.time < before) & over & (schema.firing.c.id < last)
        with self.storage.rule_tables.reading() as connection:
            if connection.execute(select(schema.firing.c.id).where(old).limit(1)).first() is None:
                return
        with self.storage.rule_tables.writing() as connection:
            connection.execute(delete(schema.firing).where(old))
            settled = schema.outbox.c.settled < before
            connection.execute(delete(schema.outbox).where(of_action, delivered, settled))
            message_groups.forget(connection, before)

    def settle(self, id: int, state: FiringState, at: int, error: str | None = None) -> None:
        """Note what became of a firing, in a transaction of its own."""
        with self.storage.rule_tables.writing() as connection:
            settle(connection, id, state, at, error)


def create(connection: Connection, rule: RuleRecord) -> None:
    """Keep a rule, in the place of one of the same number, in the caller's transaction."""
    values = {"name": rule.name, "text": rule.text, "enabled": int(rule.enabled)}
    values |= {"created": rule.created, "began": rule.began, "until": rule.until, "error": None}
    connection.execute(delete(schema.rule).where(schema.rule.c.id == rule.id))
    instances.untrack(connection, [rule.id])
    connection.execute(insert(schema.rule).values(id=rule.id, **values))


def _firing(r: Row[Any]) -> Firing:
    return Firing(r.id, r.rule, r.time, r.coupling, r.state, unpack(r.inline), r.depth, r.error, r.finished)


def record(connection: Connection, firings: Sequence[Firing]) -> None:
    """Record firings in the caller's transaction."""
    rows = [
        {
            "id": f.id,
            "rule": f.rule,
            "time": f.time,
            "coupling": f.coupling,
            "state": f.state,
            "depth": f.depth,
            "rows": f.rows.num_rows,
            "inline": pack(f.rows),
            "finished": f.finished,
            "error": f.error,
        }
        for f in firings
    ]
    if rows:
        connection.execute(insert(schema.firing), rows)
        point(FIRED)


def settle(connection: Connection, id: int, state: FiringState, at: int, error: str | None = None) -> None:
    """Note what became of a firing, in the caller's transaction."""
    finished = None if state in ("waiting", "retrying") else at
    values = {"state": state, "finished": finished, "error": error}
    connection.execute(update(schema.firing).where(schema.firing.c.id == id).values(**values))
    point(SETTLED)


def move(connection: Connection, id: int, until: int) -> None:
    """Note how far a rule has come, in the caller's transaction."""
    connection.execute(update(schema.rule).where(schema.rule.c.id == id).values(until=until, error=None))

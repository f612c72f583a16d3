"""The outbox: messages that are to be delivered to the world outside, in the catalog until they were.

A message is added on the connection of the transaction that records the firing behind it (:func:`add`), so there are
both or neither: it is recorded exactly once.  Delivering cannot be part of that transaction, so it takes three steps:

1. :meth:`Outbox.claim` takes messages that are due (:meth:`Outbox.due_targets`), and counts the attempt before it is
   made;
2. somebody sends them, with no transaction open;
3. :meth:`Outbox.acknowledge` records what came of it.

A process that dies between 2 and 3 leaves a claim.  There is one writer, so a claim that is there when a writer begins
is of a dead one, and :meth:`Outbox.recover` releases it: the message is sent once more, under the same id.  Hence *at
least once*, and a receiver that remembers ids takes each once.

An action of a rule that failed after the commit is a message too, on the channel
:data:`tidings.store.rules.messages.ACTION`: it was tried once, and is retried by whoever runs actions, like a message
that did not arrive.

A target that is gone is disabled with all that waits for it; one that asks for a pause rests.  Both outlive the
process.

Cost: a look at what is due reads the index of all due messages and writes nothing.  Claiming ranks what is due by
target, so that no target keeps the others waiting.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from tidings.store.catalog import schema
from tidings.store.catalog.transactions import CatalogTransactions
from tidings.store.fault_points import point
from tidings.store.rules.messages import (
    Delivered,
    Endpoint,
    GivenUp,
    Gone,
    Later,
    Message,
    MessageState,
    OutboxEntry,
    Target,
    Verdict,
)

ADDED, CLAIMED, ACKNOWLEDGED, RECORDED = "outbox.added", "outbox.claimed", "outbox.acknowledged", "outbox.recorded"
"""Points to die at: a message is written, one is claimed, the outcome is written, the outcome is there for good."""


def add(connection: Connection, messages: Sequence[Message]) -> None:
    """Add messages in the caller's transaction; they are due at once, unless their target is disabled."""
    if not messages:
        return
    off = schema.endpoint.c.disabled.is_not(None)
    endpoints = connection.execute(select(schema.endpoint.c.channel, schema.endpoint.c.target).where(off))
    disabled = {(e.channel, e.target) for e in endpoints}
    connection.execute(insert(schema.outbox), [_row(m, (m.channel, m.target) in disabled) for m in messages])
    point(ADDED)


def _row(message: Message, is_disabled: bool) -> dict[str, Any]:
    return {
        "id": message.id,
        "rule": message.rule,
        "firing": message.firing,
        "channel": message.channel,
        "target": message.target,
        "payload": message.payload,
        "created": message.created,
        "state": MessageState.DISABLED if is_disabled else MessageState.WAITING,
        "attempts": 0,
        "due": message.created,
        "settled": message.created if is_disabled else None,
        "error": "the target was disabled before" if is_disabled else None,
    }


def postpone(connection: Connection, message: Message, due: int | None, error: str) -> None:
    """Add what was tried once and failed; it is due once more at an instant, or dead if there is none."""
    tried = {"attempts": 1, "error": error}
    tried |= {"state": MessageState.DEAD, "settled": message.created} if due is None else {"due": due}
    connection.execute(insert(schema.outbox), [_row(message, False) | tried])


def acknowledge(connection: Connection, now: int, verdicts: Sequence[Verdict]) -> None:
    """Record what came of attempts in the caller's transaction."""
    for verdict in verdicts:
        _record(connection, now, verdict)
    point(ACKNOWLEDGED)


_OUT, _END = schema.outbox, schema.endpoint
_WAITS = _OUT.c.state == MessageState.WAITING
_FREE = _OUT.c.claimed.is_(None)
_WAITING = select(_OUT.c.number).where(_WAITS, _OUT.c.channel == bindparam("of_channel")).limit(1)


@dataclass(frozen=True, slots=True)
class Outbox:
    """The messages of one database."""

    catalog: CatalogTransactions

    def add(self, messages: Sequence[Message]) -> None:
        """Add messages in a transaction of their own."""
        with self.catalog.writing() as connection:
            add(connection, messages)

    # delivering

    def waits(self, channel: str) -> bool:
        """Whether any message of a channel waits, due or not."""
        with self.catalog.reading() as connection:
            return connection.execute(_WAITING, {"of_channel": channel}).first() is not None

    def recover(self, *channels: str, besides: Collection[int] = ()) -> int:
        """Give up the claims of a process that is gone, all or those of some channels; how many there were.

        Their attempts count.  ``besides`` has the numbers of messages that are under way.
        """
        stale = and_(_WAITS, _OUT.c.claimed.is_not(None))
        if channels:
            stale = and_(stale, _OUT.c.channel.in_(channels))
        if besides:
            stale = and_(stale, _OUT.c.number.not_in(besides))
        with self.catalog.reading() as connection:
            if connection.execute(select(_OUT.c.number).where(stale).limit(1)).first() is None:
                return 0
        with self.catalog.writing() as connection:
            return connection.execute(update(_OUT).where(stale).values(claimed=None)).rowcount

    def due_targets(self, now: int, channels: Sequence[str]) -> list[Target]:
        """The targets of messages that are due, in the order of their first messages."""
        due = and_(_WAITS, _FREE, _OUT.c.due <= now, _OUT.c.channel.in_(channels), ~_held_back(now))
        query = select(_OUT.c.channel, _OUT.c.target).where(due).group_by(_OUT.c.channel, _OUT.c.target)
        with self.catalog.reading() as connection:
            return [(r.channel, r.target) for r in connection.execute(query.order_by(func.min(_OUT.c.number))).all()]

    def claim(self, now: int, channels: Sequence[str], limit: int = 256, each: int = 32) -> list[OutboxEntry]:
        """Take messages that are due, in order, up to ``each`` per target; the attempt is counted."""
        return self.claim_for(now, self.due_targets(now, channels), limit, each)

    def claim_for(self, now: int, targets: Sequence[Target], limit: int = 256, each: int = 32) -> list[OutboxEntry]:
        """Take messages of some targets that are due, as :meth:`claim` does."""
        if not targets:
            return []
        is_wanted = tuple_(_OUT.c.channel, _OUT.c.target).in_(targets[:limit])
        ranked = (
            select(
                _OUT.c.number,
                func.row_number().over(partition_by=(_OUT.c.channel, _OUT.c.target), order_by=_OUT.c.number).label("n"),
            )
            .where(_WAITS, _FREE, _OUT.c.due <= now, is_wanted, ~_held_back(now))
            .subquery()
        )
        query = select(ranked.c.number).where(ranked.c.n <= each).order_by(ranked.c.number).limit(limit)
        with self.catalog.writing() as connection:
            is_chosen = _OUT.c.number.in_(list(connection.execute(query).scalars()))
            connection.execute(update(_OUT).where(is_chosen).values(claimed=now, attempts=_OUT.c.attempts + 1))
            rows = connection.execute(select(_OUT).where(is_chosen).order_by(_OUT.c.number)).all()
        point(CLAIMED)
        return [_entry(r) for r in rows]

    def acknowledge(self, now: int, verdicts: Sequence[Verdict]) -> None:
        """Record what came of attempts, all in one transaction."""
        if not verdicts:
            return
        with self.catalog.writing() as connection:
            acknowledge(connection, now, verdicts)
        point(RECORDED)

    def release(self, entries: Sequence[OutboxEntry]) -> None:
        """Give back what was claimed and not tried."""
        if not entries:
            return
        is_claimed = and_(_OUT.c.number.in_([e.number for e in entries]), _OUT.c.claimed.is_not(None))
        with self.catalog.writing() as connection:
            connection.execute(update(_OUT).where(is_claimed).values(claimed=None, attempts=_OUT.c.attempts - 1))

    def next_due(self, channels: Sequence[str], after: int | None = None) -> int | None:
        """When there will be something to do, or to do after an instant; None if nothing waits."""
        at = case((_END.c.rests > _OUT.c.due, _END.c.rests), else_=_OUT.c.due)
        query = select(func.min(at)).select_from(_OUT.outerjoin(_END, _same_target()))
        query = query.where(_WAITS, _FREE, _OUT.c.channel.in_(channels), _END.c.disabled.is_(None))
        if after is not None:
            query = query.where(at > after)
        with self.catalog.reading() as connection:
            return connection.execute(query).scalar()

    # looking

    def entries(
        self, *states: MessageState, first: int = 0, last: int | None = None, limit: int | None = None
    ) -> list[OutboxEntry]:
        """Messages in the order they were added: in some states or in any, of a range of numbers."""
        query = select(_OUT).where(_in_range(first, last)).order_by(_OUT.c.number).limit(limit)
        if states:
            query = query.where(_OUT.c.state.in_(states))
        with self.catalog.reading() as connection:
            return [_entry(r) for r in connection.execute(query).all()]

    def find(self, id: str) -> OutboxEntry | None:
        """The message of an id."""
        with self.catalog.reading() as connection:
            row = connection.execute(select(_OUT).where(_OUT.c.id == id)).first()
        return None if row is None else _entry(row)

    def counts(self) -> dict[MessageState, int]:
        """How many messages are in each state."""
        query = select(_OUT.c.state, func.count()).group_by(_OUT.c.state)
        with self.catalog.reading() as connection:
            counts = {MessageState(state): int(number) for state, number in connection.execute(query).all()}
        return {state: counts.get(state, 0) for state in MessageState}

    def endpoints(self) -> list[Endpoint]:
        """The targets that are disabled or have had to rest."""
        with self.catalog.reading() as connection:
            rows = connection.execute(select(_END).order_by(_END.c.channel, _END.c.target)).all()
        return [Endpoint(r.channel, r.target, r.disabled, r.rests, r.error) for r in rows]

    # by hand

    def redeliver(self, now: int, *ids: str) -> int:
        """Have messages sent once more, whatever became of them, under their old ids; how many will be.

        Those of a disabled target stay where they are until it is enabled.
        """
        return self._redeliver(now, _OUT.c.id.in_(ids))

    def redeliver_range(self, now: int, first: int, last: int | None = None, *states: MessageState) -> int:
        """Have the messages of a range of numbers sent once more: the dead ones, or those in some states."""
        return self._redeliver(now, and_(_in_range(first, last), _OUT.c.state.in_(states or (MessageState.DEAD,))))

    def _redeliver(self, now: int, which: ColumnElement[bool]) -> int:
        waiting = {"state": MessageState.WAITING, "attempts": 0, "due": now, "settled": None}
        with self.catalog.writing() as connection:
            return connection.execute(update(_OUT).where(which, _FREE, ~_disabled()).values(**waiting)).rowcount

    def enable(self, now: int, channel: str, target: str) -> int:
        """Enable a target, and send it also what it missed; how many messages these are."""
        is_missed = and_(_OUT.c.channel == channel, _OUT.c.target == target, _OUT.c.state == MessageState.DISABLED)
        waiting = {"state": MessageState.WAITING, "attempts": 0, "due": now, "settled": None}
        with self.catalog.writing() as connection:
            connection.execute(delete(_END).where(_END.c.channel == channel, _END.c.target == target))
            return connection.execute(update(_OUT).where(is_missed).values(**waiting)).rowcount

    def disable(self, now: int, channel: str, target: str, reason: str) -> None:
        """Let a target have nothing any more until it is enabled."""
        with self.catalog.writing() as connection:
            _disable(connection, now, channel, target, reason)

    def forget(self, before: int) -> int:
        """Forget what was delivered before an instant, and pauses that ended by then; how many messages that was."""
        old = and_(_OUT.c.state == MessageState.DELIVERED, _OUT.c.settled < before)
        rested = and_(_END.c.disabled.is_(None), _END.c.rests < before)
        with self.catalog.reading() as connection:
            if not connection.execute(select(exists().where(old) | exists().where(rested))).scalar_one():
                return 0
        with self.catalog.writing() as connection:
            connection.execute(delete(_END).where(rested))
            return connection.execute(delete(_OUT).where(old)).rowcount


def _record(connection: Connection, now: int, verdict: Verdict) -> None:
    statement = update(_OUT).where(_OUT.c.number == verdict.entry.number)
    message = verdict.entry.message
    match verdict:
        case Delivered():
            connection.execute(statement.values(state=MessageState.DELIVERED, claimed=None, settled=now, error=None))
        case Later(_, due, error, rests):
            connection.execute(statement.values(state=MessageState.WAITING, claimed=None, due=due, error=error))
            if rests is not None:
                _note(connection, message.channel, message.target, rests=rests, error=error)
        case GivenUp(_, error, rests):
            connection.execute(statement.values(state=MessageState.DEAD, claimed=None, settled=now, error=error))
            if rests is not None:
                _note(connection, message.channel, message.target, rests=rests, error=error)
        case Gone(_, error):
            _disable(connection, now, message.channel, message.target, error)
        case _:
            assert_never(verdict)


def _disable(connection: Connection, now: int, channel: str, target: str, reason: str) -> None:
    """Disable a target; what is under way to it is so no more."""
    _note(connection, channel, target, disabled=now, error=reason)
    is_waiting = and_(_OUT.c.channel == channel, _OUT.c.target == target, _WAITS)
    values = {"state": MessageState.DISABLED, "claimed": None, "settled": now, "error": reason}
    connection.execute(update(_OUT).where(is_waiting).values(**values))


def _note(connection: Connection, channel: str, target: str, **values: Any) -> None:
    """Note something about a target, in addition to what is known of it."""
    is_target = and_(_END.c.channel == channel, _END.c.target == target)
    if not connection.execute(update(_END).where(is_target).values(**values)).rowcount:
        connection.execute(insert(_END).values({"channel": channel, "target": target, "rests": 0} | values))


def _held_back(now: int) -> ColumnElement[bool]:
    """Whether a message's target is disabled or rests."""
    return exists().where(_same_target(), or_(_END.c.disabled.is_not(None), _END.c.rests > now))


def _disabled() -> ColumnElement[bool]:
    return exists().where(_same_target(), _END.c.disabled.is_not(None))


def _same_target() -> ColumnElement[bool]:
    return and_(_END.c.channel == _OUT.c.channel, _END.c.target == _OUT.c.target)


def _in_range(first: int, last: int | None) -> ColumnElement[bool]:
    return _OUT.c.number >= first if last is None else _OUT.c.number.between(first, last)


def _entry(row: Row[Any]) -> OutboxEntry:
    message = Message(row.rule, row.firing, row.channel, row.target, row.payload, row.created, row.id)
    state, claimed = MessageState(row.state), row.claimed
    return OutboxEntry(row.number, message, state, row.attempts, row.due, row.settled, row.error, claimed)

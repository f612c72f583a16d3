"""Groups of instances: when their messages are due, and which rows are in which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from sqlalchemy import Connection, select

from tidings.store.catalog import schema
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.rules import message_groups, rule_store
from tidings.store.rules.message_groups import Gathered, Pace
from tidings.store.rules.messages import Message
from tidings.store.rules.rule_store import Firing

PACE = Pace(wait=10, interval=100)
NO_ROWS = pa.table({"x": pa.array([], pa.int64())})


@pytest.fixture
def connection() -> Iterator[Connection]:
    catalog = MemoryCatalog()
    with catalog.writing() as connection:
        yield connection
    catalog.close()


def compose(key: str, due: int, ready: Sequence[Gathered]) -> Message:
    """A message that says which firings it is of."""
    return Message("r", ready[-1].firing, "test", key, ",".join(str(g.firing) for g in ready), due)


def gather(connection: Connection, *times: int, key: str = "k") -> int:
    """One firing at each time, numbered by it."""
    rule_store.record(connection, [Firing(t, "r", t, "detached", "gathered", NO_ROWS) for t in times])
    waiting = [Gathered("r", key, t, t, False, pa.table({"x": [t]})) for t in times]
    return message_groups.gather(connection, waiting, PACE, compose)


def sent(connection: Connection) -> list[tuple[int, str]]:
    """When the messages were due, and the firings in them."""
    out = schema.outbox.c
    return [(r.created, r.payload) for r in connection.execute(select(out.created, out.payload).order_by(out.number))]


def states(connection: Connection) -> dict[int, str]:
    return {r.id: r.state for r in connection.execute(select(schema.firing.c.id, schema.firing.c.state))}


def test_the_first_message_waits_for_more(connection: Connection) -> None:
    assert gather(connection, 1, 5, 11) == 1
    assert sent(connection) == [(11, "1,5,11")]
    assert states(connection) == {1: "sent", 5: "sent", 11: "sent"}


def test_the_next_message_comes_an_interval_later(connection: Connection) -> None:
    gather(connection, 1)
    assert message_groups.write_due(connection, "r", "k", 10, PACE, compose) == 0
    assert message_groups.write_due(connection, "r", "k", 11, PACE, compose) == 1
    gather(connection, 20, 30)
    assert states(connection) == {1: "sent", 20: "gathered", 30: "gathered"}
    assert message_groups.due(connection, 110) == []
    assert message_groups.due(connection, 111) == [("r", "k")]
    message_groups.write_due(connection, "r", "k", 111, PACE, compose)
    assert sent(connection) == [(11, "1"), (111, "20,30")]


def test_what_is_in_which_message_does_not_depend_on_who_looks_when(connection: Connection) -> None:
    gather(connection, 1, 20, 300)
    assert message_groups.write_due(connection, "r", "k", 1000, PACE, compose) == 1
    assert sent(connection) == [(11, "1"), (111, "20"), (310, "300")]


def test_a_firing_is_sent_when_its_last_group_is(connection: Connection) -> None:
    rule_store.record(connection, [Firing(1, "r", 1, "detached", "gathered", NO_ROWS)])
    waiting = [Gathered("r", key, 1, 1, False, pa.table({"x": [1]})) for key in ("a", "b")]
    message_groups.gather(connection, waiting, PACE, compose)
    message_groups.write_due(connection, "r", "a", 11, PACE, compose)
    assert states(connection) == {1: "gathered"}
    message_groups.write_due(connection, "r", "b", 11, PACE, compose)
    assert states(connection) == {1: "sent"}


def test_groups_are_forgotten_when_they_are_idle_or_their_rule_goes(connection: Connection) -> None:
    groups = select(schema.gathering.c.key).order_by(schema.gathering.c.key)
    gather(connection, 1, 11, key="idle")
    gather(connection, 2, key="waiting")
    message_groups.forget(connection, 11)
    assert list(connection.execute(groups).scalars()) == ["idle", "waiting"]
    message_groups.forget(connection, 12)
    assert list(connection.execute(groups).scalars()) == ["waiting"]
    message_groups.drop(connection, "R")
    assert message_groups.due(connection, 1000) == []
    assert connection.execute(select(schema.gathered)).all() == []

"""The outbox over its three catalogs: in memory, in SQLite, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.postgresql import schema as in_schema
from tests.postgresql import server
from tests.unit.deliver.help import fire
from tidings.store.catalog import schema
from tidings.store.catalog.session import Session
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.rules.messages import Delivered, GivenUp, Gone, Later, Message, MessageState, OutboxEntry
from tidings.store.rules.outbox import Outbox, add

HOOK = ("webhook",)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def outbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Outbox]:
    catalog: MemoryCatalog | Session
    match request.param:
        case "memory":
            catalog = MemoryCatalog()
        case "sqlite":
            catalog = Session(f"sqlite:///{tmp_path}/catalog.sqlite")
        case _:
            name = f"s{abs(hash(request.node.name)) % 10**9}"
            catalog = Session(in_schema(request.getfixturevalue("postgresql"), name))
    yield Outbox(catalog)
    catalog.close()


def ids(entries: list[OutboxEntry]) -> list[str]:
    return [e.message.id for e in entries]


def only(entries: list[OutboxEntry]) -> OutboxEntry:
    (found,) = entries
    return found


def test_messages_come_in_order_and_once(outbox: Outbox) -> None:
    made = fire(outbox, "a", "b") + fire(outbox, "a")
    claimed = outbox.claim(0, HOOK)
    assert ids(claimed) == made
    assert [e.attempts for e in claimed] == [1, 1, 1]
    assert outbox.claim(0, HOOK) == []
    outbox.acknowledge(5, [Delivered(e) for e in claimed])
    assert outbox.claim(10**15, HOOK) == []
    assert [(e.state, e.settled) for e in outbox.entries()] == [(MessageState.DELIVERED, 5)] * 3


def test_firing_and_message_are_one_transaction(outbox: Outbox) -> None:
    def fail() -> None:
        with outbox.catalog.writing() as connection:
            add(connection, [Message("r", 1, "webhook", "a", "{}", 0)])
            raise KeyError("the firing")

    with pytest.raises(KeyError):
        fail()
    assert outbox.entries() == []


def test_an_id_is_taken_once(outbox: Outbox) -> None:
    message = Message("r", 1, "webhook", "a", "{}", 0)
    outbox.add([message])
    with pytest.raises(Exception, match=r"(?i)unique"):
        outbox.add([message])
    assert len(outbox.entries()) == 1


def test_other_channels_and_later_ones_wait(outbox: Outbox) -> None:
    fire(outbox, "a", channel="mail")
    fire(outbox, "a", at=100)
    assert outbox.claim(99, HOOK) == []
    assert outbox.next_due(HOOK) == 100
    assert len(outbox.claim(100, HOOK)) == 1
    assert outbox.next_due(HOOK) is None
    assert outbox.next_due(["mail"]) == 0


def test_no_target_keeps_the_others_waiting(outbox: Outbox) -> None:
    fire(outbox, *["a"] * 5, "b")
    claimed = outbox.claim(0, HOOK, each=2)
    assert [e.message.target for e in claimed] == ["a", "a", "b"]
    assert [e.message.target for e in outbox.claim(0, HOOK, limit=1)] == ["a"]


def test_a_retry_waits_and_keeps_its_id(outbox: Outbox) -> None:
    (id,) = fire(outbox, "a")
    outbox.acknowledge(1, [Later(only(outbox.claim(1, HOOK)), 50, "503")])
    assert outbox.claim(49, HOOK) == []
    again = only(outbox.claim(50, HOOK))
    assert (again.message.id, again.attempts, again.error) == (id, 2, "503")


def test_a_resting_target_gets_nothing_not_even_what_is_new(outbox: Outbox) -> None:
    fire(outbox, "a", "b")
    first, other = outbox.claim(0, HOOK)
    outbox.acknowledge(0, [Later(first, 10, "429", rests=60), Delivered(other)])
    fire(outbox, "a", "b", at=20)
    assert [e.message.target for e in outbox.claim(30, HOOK)] == ["b"]
    assert outbox.next_due(HOOK) == 60
    assert [e.message.target for e in outbox.claim(60, HOOK)] == ["a", "a"]


def test_a_target_that_is_gone_is_disabled_until_enabled(outbox: Outbox) -> None:
    fire(outbox, "a", "a", "b")
    first, second, other = outbox.claim(0, HOOK)
    outbox.acknowledge(7, [Gone(first, "410"), Delivered(other)])
    outbox.release([second])
    fire(outbox, "a", at=8)
    assert outbox.claim(9, HOOK) == []
    assert outbox.counts() == {
        MessageState.WAITING: 0,
        MessageState.DELIVERED: 1,
        MessageState.DEAD: 0,
        MessageState.DISABLED: 3,
    }
    assert [(e.target, e.disabled, e.error) for e in outbox.endpoints()] == [("a", 7, "410")]
    assert outbox.redeliver(9, first.message.id) == 0
    assert outbox.enable(10, "webhook", "a") == 3
    assert [e.attempts for e in outbox.claim(10, HOOK)] == [1, 1, 1]


def test_a_target_is_disabled_by_hand(outbox: Outbox) -> None:
    fire(outbox, "a")
    outbox.disable(1, "webhook", "a", "moved")
    assert only(outbox.entries(MessageState.DISABLED)).error == "moved"


def test_claims_of_the_dead_are_given_up_and_count(outbox: Outbox) -> None:
    fire(outbox, "a")
    outbox.claim(0, HOOK)
    assert outbox.recover() == 1
    assert outbox.recover() == 0
    assert only(outbox.claim(0, HOOK)).attempts == 2


def test_what_is_released_was_not_tried(outbox: Outbox) -> None:
    fire(outbox, "a")
    outbox.release(outbox.claim(0, HOOK))
    assert only(outbox.claim(0, HOOK)).attempts == 1


def test_dead_letters_are_redelivered_one_by_one_or_by_range(outbox: Outbox) -> None:
    made = fire(outbox, "a", "b", "c", "d")
    claimed = outbox.claim(0, HOOK)
    outbox.acknowledge(3, [GivenUp(e, "no") for e in claimed[:3]] + [Delivered(claimed[3])])
    dead = outbox.entries(MessageState.DEAD)
    assert [(e.message.id, e.error, e.settled) for e in dead] == [(id, "no", 3) for id in made[:3]]
    assert outbox.redeliver(20, made[1]) == 1
    assert outbox.redeliver(20, "nobody") == 0
    assert ids(outbox.claim(20, HOOK)) == [made[1]]
    assert outbox.redeliver_range(30, dead[0].number, dead[2].number + 1) == 2
    assert ids(outbox.claim(30, HOOK)) == [made[0], made[2]]
    assert outbox.redeliver_range(40, claimed[3].number, None, MessageState.DELIVERED) == 1
    assert ids(outbox.claim(40, HOOK)) == [made[3]]


def test_entries_are_found_by_id_range_and_number(outbox: Outbox) -> None:
    made = fire(outbox, "a", "b", "c")
    found = outbox.find(made[1])
    assert found is not None
    assert found.message.target == "b"
    assert outbox.find("nobody") is None
    assert ids(outbox.entries(first=found.number)) == made[1:]
    assert ids(outbox.entries(first=found.number, last=found.number)) == [made[1]]
    assert ids(outbox.entries(limit=2)) == made[:2]


def test_what_was_delivered_is_forgotten_and_numbers_go_on(outbox: Outbox) -> None:
    fire(outbox, "a", "b")
    first, second = outbox.claim(0, HOOK)
    outbox.acknowledge(5, [Delivered(first), Delivered(second)])
    assert outbox.forget(5) == 0
    assert outbox.forget(6) == 2
    fire(outbox, "c")
    assert only(outbox.entries()).number > second.number


def test_an_older_catalog_gets_the_tables(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.sqlite"
    Session(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        schema.metadata.drop_all(connection, [schema.outbox, schema.endpoint])
        connection.execute(text("UPDATE meta SET value = '1' WHERE key = 'version'"))
    engine.dispose()
    session = Session(url)
    outbox = Outbox(session)
    assert fire(outbox, "a") == ids(outbox.entries())
    session.close()

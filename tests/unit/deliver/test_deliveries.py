"""From a rule to its receivers, with what a database keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.deliver.help import fire
from tidings import Database, ManualClock
from tidings.deliver.deliveries import COLUMNS, Deliveries, DeliverySettings, rows
from tidings.deliver.mail import Mail
from tidings.deliver.signature import new_secret
from tidings.retry_policy import RetryPolicy
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.relation.net import table_of
from tidings.store.rules.messages import MessageState


@pytest.fixture
def memory() -> Iterator[MemoryCatalog]:
    made = MemoryCatalog()
    yield made
    made.close()


def test_channels_without_settings_wait(memory: MemoryCatalog) -> None:
    deliveries = Deliveries(memory, ManualClock(0))
    for channel in ("webhook", "file", "mail"):
        fire(deliveries.outbox, "x", channel=channel)
    assert deliveries.step() == 0
    assert len(deliveries.entries("waiting")) == 3


def test_settings_make_channels(memory: MemoryCatalog, tmp_path: Path) -> None:
    secret = new_secret()
    settings = DeliverySettings([secret], allow=["10.0.0.0/8"], files=tmp_path)
    assert secret not in repr(settings)
    assert set(Deliveries(memory, settings=settings).deliverer.channels) == {"notify", "webhook", "file"}
    with pytest.raises(ValueError, match="does not appear to be"):
        Deliveries(memory, settings=DeliverySettings([secret], allow=["everything"]))


def test_dead_letters_are_listed_and_redelivered(memory: MemoryCatalog, tmp_path: Path) -> None:
    clock = ManualClock(0)
    deliveries = Deliveries(
        memory, clock, DeliverySettings(files=tmp_path / "later", policy=RetryPolicy(attempts=1, rest=0))
    )
    ids = fire(deliveries.outbox, "a.jsonl", "b.jsonl", channel="file")
    deliveries.step()
    assert [e.message.id for e in deliveries.dead()] == ids
    (tmp_path / "later").mkdir()
    assert deliveries.redeliver(ids[0]) == 1
    assert deliveries.redeliver_range() == 1
    clock.advance(timedelta(seconds=1))
    assert deliveries.step() == 2
    assert deliveries.dead() == []


def test_targets_are_disabled_and_enabled(memory: MemoryCatalog) -> None:
    deliveries = Deliveries(memory, ManualClock(0))
    fire(deliveries.outbox, "x", channel="notify")
    deliveries.disable("notify", "x")
    assert deliveries.step() == 0
    assert [e.target for e in deliveries.endpoints()] == ["x"]
    assert deliveries.enable("notify", "x") == 1
    assert deliveries.step() == 1


def test_deliveries_are_a_table(memory: MemoryCatalog) -> None:
    deliveries = Deliveries(memory, ManualClock(0))
    (id,) = fire(deliveries.outbox, "x", channel="notify")
    deliveries.step()
    (row,) = table_of(COLUMNS, rows(deliveries.outbox)).to_pylist()
    assert (row["id"], row["state"], row["attempts"], row["target"]) == (id, "delivered", 1, "x")


def test_a_thread_tells_listeners(memory: MemoryCatalog) -> None:
    deliveries = Deliveries(memory)
    listener = deliveries.listen("buyers")
    deliveries.start()
    (id,) = fire(deliveries.outbox, "buyers", channel="notify")
    deliveries.wake()
    notice = listener.get(20)
    assert notice is not None
    assert notice.id == id
    deliveries.close()
    assert listener.get() is None


RULES = """
    CREATE TABLE quantity (item INT PRIMARY KEY, qty INT);
    CREATE RULE told WHEN SELECT item, qty FROM quantity WHERE qty < 10 DO NOTIFY 'buyers';
    CREATE RULE noted WHEN SELECT item, qty FROM quantity WHERE qty < 10 DO FILE 'low.jsonl';
"""


def low(db: Database, item: int) -> None:
    db.sql(f"INSERT INTO quantity VALUES ({item}, 5)")


@pytest.mark.parametrize("kept", [False, True])
def test_rules_tell(kept: bool, tmp_path: Path) -> None:
    path = tmp_path / "db" if kept else None
    with tidings.open(path, engine="duckdb", clock=ManualClock(0)) as db:
        deliveries = Deliveries(db._parts.storage.rule_tables, ManualClock(10), DeliverySettings(files=tmp_path))
        listener = deliveries.listen("buyers")
        db.sql(RULES)
        low(db, 1)
        low(db, 2)
        assert deliveries.step() == 4
        notices = [listener.get(0), listener.get(0)]
        assert [n.payload["data"]["rows"] for n in notices if n] == [[{"item": 1, "qty": 5}], [{"item": 2, "qty": 5}]]
        lines = [json.loads(line) for line in (tmp_path / "low.jsonl").read_text().splitlines()]
        assert [(line["data"]["rule"], line["data"]["rows"][0]["item"]) for line in lines] == [
            ("noted", 1),
            ("noted", 2),
        ]
        assert {e.state for e in deliveries.entries()} == {MessageState.DELIVERED}
        deliveries.close()


def test_what_was_not_delivered_is_when_the_database_is_opened_again(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0)) as db:
        db.sql(RULES)
        low(db, 1)
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0)) as db:
        deliveries = Deliveries(db._parts.storage.rule_tables, ManualClock(10), DeliverySettings(files=tmp_path))
        assert deliveries.step() == 2
        assert len((tmp_path / "low.jsonl").read_text().splitlines()) == 1
        deliveries.close()


def test_a_transaction_that_is_rolled_back_tells_nothing(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0)) as db:
        db.sql(RULES)
        tx = db.transaction()
        tx.insert("quantity", [(1, 5)])
        tx.rollback()
        assert Deliveries(db._parts.storage.rule_tables).entries() == []


def test_commits_and_deliveries_go_on_side_by_side(tmp_path: Path) -> None:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0)) as db:
        deliveries = Deliveries(db._parts.storage.rule_tables, settings=DeliverySettings(files=tmp_path))
        listener = deliveries.listen("buyers")
        db.sql(RULES)
        deliveries.start()
        for item in range(40):
            low(db, item)
            deliveries.wake()
        heard = [listener.get(20) for _ in range(40)]
        deliveries.close()
        assert [n.payload["data"]["rows"][0]["item"] for n in heard if n] == list(range(40))
        assert deliveries.error is None
        deliveries = Deliveries(db._parts.storage.rule_tables, settings=DeliverySettings(files=tmp_path))
        deliveries.step()
        lines = (tmp_path / "low.jsonl").read_text().splitlines()
        assert [json.loads(line)["data"]["rows"][0]["item"] for line in lines] == list(range(40))
        assert {(e.state, e.attempts) for e in deliveries.entries()} == {(MessageState.DELIVERED, 1)}


TOKEN, QUERY = "Zr8vQ2xTokenOfThePath", "hunter2hunter2"


def test_no_secret_is_in_what_is_shown_or_kept(tmp_path: Path) -> None:
    url = f"http://hooks.test/services/{TOKEN}?key={QUERY}"
    secret = "whsec_" + "c2VjcmV0LW9mLXRoZS10ZXN0LW9mLTMyLWJ5dGVz"
    settings = DeliverySettings([secret], mail=Mail("localhost", "a@b.test", user="u", password="pass-of-mail"))
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0), deliveries=settings) as db:
        db.sql("CREATE TABLE t (a INT PRIMARY KEY)")
        db.sql(f"CREATE RULE r WHEN SELECT a FROM t DO WEBHOOK '{url}'")
        db.sql("INSERT INTO t VALUES (1)")
        (row,) = db.query("SELECT target, error FROM tidings.deliveries").rows()
        assert row["target"] == "http://hooks.test/services/***?***"
        shown = [
            *(repr(row), db.explain_rule("r"), repr(settings), repr(db.status())),
            repr(db.query("SELECT does, error FROM tidings.rules").rows()),
        ]
        for text in shown:
            assert not any(each in text for each in (TOKEN, QUERY, secret, "pass-of-mail"))
    for file in (tmp_path / "db").rglob("*"):
        if file.is_file():
            kept = file.read_bytes()
            assert secret.encode() not in kept
            assert b"pass-of-mail" not in kept


def test_the_file_channel_of_a_database_stays_out_of_its_folder(tmp_path: Path) -> None:
    settings = DeliverySettings(files=tmp_path)
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0), deliveries=settings) as db:
        db.sql("CREATE TABLE t (a INT PRIMARY KEY); CREATE RULE r WHEN SELECT a FROM t DO FILE 'db/identity'")
        before = (tmp_path / "db" / "lock").read_bytes()
        db.sql("INSERT INTO t VALUES (1)")
        db.deliveries.step()
        (entry,) = db.deliveries.dead()
        assert "folder of the database" in str(entry.error)
        assert (tmp_path / "db" / "lock").read_bytes() == before

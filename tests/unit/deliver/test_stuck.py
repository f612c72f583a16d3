"""A receiver that hangs holds up neither other receivers nor the end of a database, and is named."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

import tidings
from tests.unit.deliver.help import fire
from tests.unit.deliver.test_deliverer import PLAIN, Told, outbox
from tests.unit.deliver.test_webhook import listening
from tests.unit.eventually import eventually
from tidings import Database, DeliverySettings, Mail, ManualClock
from tidings.deliver.channel import Arrived, Channel, Failed, SendOutcome
from tidings.deliver.deliverer import Deliverer
from tidings.deliver.delivery_thread import DeliveryThread
from tidings.deliver.file import FileChannel
from tidings.store.rules.messages import Message, MessageState
from tidings.store.rules.outbox import Outbox

__all__ = ["outbox"]


@dataclass(slots=True)
class Hanging:
    """Does not come back for some targets, whatever it is told, until it is let go."""

    targets: tuple[str, ...] = ("slow",)
    let_go: Event = field(default_factory=Event)
    outcome: SendOutcome = field(default_factory=Arrived)
    seen: list[str] = field(default_factory=list)
    is_instant: bool = False

    def send(self, message: Message, now: int) -> SendOutcome:
        self.seen.append(message.id)
        if message.target in self.targets:
            self.let_go.wait()
            return self.outcome
        return Arrived()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    channel = Hanging()
    yield channel
    channel.let_go.set()


def threaded(outbox: Outbox, channels: dict[str, Channel], workers: int = 2) -> DeliveryThread:
    deliverer = Deliverer(outbox, channels, ManualClock(0), PLAIN, workers=workers)
    deliverer.patience = 0
    return DeliveryThread(deliverer, poll=0.01, closing=0.05)


def delivered(outbox: Outbox) -> list[str]:
    return [entry.message.id for entry in outbox.entries(MessageState.DELIVERED)]


def test_other_channels_and_other_targets_go_on(outbox: Outbox, hanging: Hanging) -> None:
    plain = Told()
    with threaded(outbox, {"mail": hanging, "webhook": plain}):
        slow = fire(outbox, "slow", "slow", channel="mail")
        eventually(lambda: hanging.seen)
        others = [*fire(outbox, "a", channel="mail"), *fire(outbox, "b", "b"), *fire(outbox, "c", channel="mail")]
        eventually(lambda: delivered(outbox) == others)
        hanging.let_go.set()
        eventually(lambda: delivered(outbox) == slow + others)


def test_a_channel_whose_workers_all_hang_holds_up_no_other(outbox: Outbox, hanging: Hanging) -> None:
    hanging.targets = ("x", "y", "z")
    with threaded(outbox, {"mail": hanging, "webhook": Told()}):
        fire(outbox, "x", "y", "z", channel="mail")
        eventually(lambda: len(hanging.seen) == 2)
        others = fire(outbox, "a", "b")
        eventually(lambda: delivered(outbox) == others)
        assert len(hanging.seen) == 2
        hanging.let_go.set()
        eventually(lambda: len(delivered(outbox)) == 5)


def test_what_hangs_is_named(outbox: Outbox, hanging: Hanging, caplog: pytest.LogCaptureFixture) -> None:
    hanging.targets = ("https://hooks.test/Zr8vQ2x",)
    (id,) = fire(outbox, *hanging.targets, channel="webhook")
    with caplog.at_level(logging.WARNING, "tidings.deliver"), threaded(outbox, {"webhook": hanging}) as thread:
        eventually(lambda: "is stuck" in caplog.text)
        (sending,) = thread.deliverer.sending()
        assert (sending.channel, sending.target, sending.id) == ("webhook", "https://hooks.test/***", id)
        assert sending.is_stuck
        (entry,) = outbox.entries()
        assert entry.claimed == sending.since == 0
    assert "was left behind" in caplog.text
    assert caplog.text.count("is stuck") == 1
    assert "Zr8vQ2x" not in caplog.text


def test_what_was_left_behind_is_sent_again_by_the_next_in_order(outbox: Outbox, hanging: Hanging) -> None:
    ids = fire(outbox, "slow", "slow", "slow", channel="mail")
    with threaded(outbox, {"mail": hanging}):
        eventually(lambda: hanging.seen)
    again = Told()
    assert Deliverer(outbox, {"mail": again}, ManualClock(0), PLAIN).step() == 3
    assert [id for _, id in again.seen] == ids
    assert delivered(outbox) == ids


def test_one_that_comes_back_late_is_taken_at_its_word(outbox: Outbox, hanging: Hanging) -> None:
    first, second = fire(outbox, "slow", "slow", channel="mail")
    thread = threaded(outbox, {"mail": hanging})
    with thread:
        eventually(lambda: hanging.seen)
    assert thread.deliverer.step() == 0  # nobody else sends to this target meanwhile
    hanging.let_go.set()
    eventually(lambda: not thread.deliverer.sending())
    assert delivered(outbox) == [first]
    assert hanging.seen == [first]
    assert thread.deliverer.step() == 1
    assert delivered(outbox) == [first, second]


def test_an_attempt_that_was_ended_is_no_failure(outbox: Outbox, hanging: Hanging) -> None:
    hanging.outcome = Failed("deliveries were stopped", unreachable=True)
    (id,) = fire(outbox, "slow", channel="mail")
    thread = threaded(outbox, {"mail": hanging})
    with thread:
        eventually(lambda: hanging.seen)
    hanging.let_go.set()
    eventually(lambda: not thread.deliverer.sending())
    assert outbox.endpoints() == []
    assert thread.deliverer.step() == 1  # it does not wait
    assert hanging.seen == [id, id]


def test_what_goes_wrong_in_a_worker_is_the_error_of_the_thread(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, acknowledge, failures = threaded(outbox, {"webhook": Told()}), Outbox.acknowledge, iter([True, False])

    def failing(self: Outbox, *given: object) -> None:
        if next(failures, False):
            raise RuntimeError("no room")
        acknowledge(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Outbox, "acknowledge", failing)
    ids = fire(outbox, "a")
    with thread:
        eventually(lambda: thread.error == "RuntimeError: no room")
        eventually(lambda: delivered(outbox) == ids)


RULES = """
    CREATE TABLE t (n INT);
    CREATE RULE filed WHEN SELECT n FROM t DO FILE 'out.jsonl';
    CREATE RULE mailed WHEN SELECT n FROM t DO MAIL 'a@b.test';
    CREATE RULE told WHEN SELECT n FROM t DO NOTIFY 'c';
"""


def filed(path: Path) -> list[int]:
    return [json.loads(line)["data"]["rows"][0]["n"] for line in path.read_text().splitlines()]


def test_a_database_ends_and_delivers_when_it_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver of mails that says nothing and a folder that does not answer: what is due is there after the next."""
    stuck = Event()

    def hangs(*_: object) -> SendOutcome:
        stuck.wait()
        return Failed("too late")

    def silent(connection: object) -> None:
        asked.set()
        released.wait()

    asked, released = Event(), Event()
    with listening(silent) as url, monkeypatch.context() as patched:
        port = int(url.rstrip("/").rpartition(":")[2])
        settings = DeliverySettings(files=tmp_path, mail=Mail("127.0.0.1", "s@d.test", port, timeout=3600))
        patched.setattr(FileChannel, "_append", hangs)
        with tidings.open(tmp_path / "db", engine="duckdb", deliveries=settings) as db:
            db.sql(RULES)
            listener = db.deliveries.listen("c")
            db.deliveries._thread.closing = 0.5
            db.deliveries.start()
            for n in range(3):
                db.sql(f"INSERT INTO t VALUES ({n})")
            assert [listener.get(20) is not None for _ in range(3)] == [True] * 3
            assert asked.wait(20)
            eventually(lambda: len(db.status().deliveries.sending) == 2)
            assert {s.channel for s in db.status().deliveries.sending} == {"file", "mail"}
            sending = "SELECT DISTINCT channel FROM tidings.deliveries WHERE sending IS NOT NULL ORDER BY channel"
            assert db.query(sending).to_arrow()["channel"].to_pylist() == ["file", "mail"]
        released.set()
    with tidings.open(tmp_path / "db", engine="duckdb", deliveries=DeliverySettings(files=tmp_path)) as db:
        db.deliveries.step()
        assert filed(tmp_path / "out.jsonl") == [0, 1, 2]
        assert waiting(db) == {"mail"}
    stuck.set()


def waiting(db: Database) -> set[str]:
    return {entry.message.channel for entry in db.deliveries.entries("waiting")}

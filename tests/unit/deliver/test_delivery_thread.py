"""A thread delivers what is due, and stops when it is told to or when another process is the writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from tests.unit.deliver.help import fire
from tests.unit.deliver.test_deliverer import Told, made, outbox
from tidings import ManualClock
from tidings.deliver.channel import Arrived, SendOutcome
from tidings.deliver.deliverer import Deliverer
from tidings.deliver.delivery_thread import DeliveryThread
from tidings.store.catalog.session import Session
from tidings.store.rules.messages import Message, MessageState
from tidings.store.rules.outbox import Outbox

__all__ = ["outbox"]


@dataclass(slots=True)
class Ringing:
    """Says that something came, and waits until it may go on."""

    came: Event = field(default_factory=Event)
    go_on: Event = field(default_factory=Event)
    is_instant: bool = False

    def send(self, message: Message, now: int) -> SendOutcome:
        self.came.set()
        assert self.go_on.wait(20)
        return Arrived()


def test_a_thread_delivers_and_stops(tmp_path: Path) -> None:
    session = Session(f"sqlite:///{tmp_path}/catalog.sqlite")
    outbox, channel = Outbox(session), Ringing()
    with DeliveryThread(Deliverer(outbox, {"webhook": channel}, ManualClock(0)), poll=20) as thread:
        thread.start()
        fire(outbox, "a", "a")
        thread.wake()
        assert channel.came.wait(20)
        fire(outbox, "a")  # the catalog can be written while a message is under way
        thread.deliverer.stopping.set()
        channel.go_on.set()
    assert [e.state for e in outbox.entries()] == [MessageState.DELIVERED, MessageState.WAITING, MessageState.WAITING]
    assert outbox.recover() == 0
    session.close()


def test_a_thread_ends_when_another_process_is_the_writer(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.sqlite"
    stale = Session(url)
    fire(Outbox(stale), "a")
    fresh = Session(url)
    thread = DeliveryThread(Deliverer(Outbox(stale), {"webhook": Told()}, ManualClock(0)))
    thread.start()
    worker = thread._worker
    assert worker._thread is not None
    worker._thread.join(20)
    assert not worker.is_alive
    assert thread.error is not None
    assert Outbox(fresh).counts()[MessageState.WAITING] == 1
    stale.close()
    fresh.close()


def test_one_that_was_stopped_can_still_be_asked_and_started_again(outbox: Outbox) -> None:
    thread = DeliveryThread(made(outbox))
    for _ in range(2):
        thread.start()
        thread.stop()
    fire(outbox, "a")
    assert thread.deliverer.step(0) == 1

"""Notices to listeners: in order, never waited for, and what was missed is counted."""

from __future__ import annotations

from threading import Thread

from tidings.deliver.channel import Arrived
from tidings.deliver.notify import Notify
from tidings.store.rules.messages import Message


def message(number: int, channel: str = "buyers") -> Message:
    return Message("low", number, "notify", channel, '{"item": 1}', 5, id=f"msg_{number}")


def test_listeners_hear_their_channel_in_order() -> None:
    hub = Notify()
    buyers, others = hub.listen("Buyers"), hub.listen("sellers")
    assert [hub.send(message(n), 0) for n in (1, 2)] == [Arrived(), Arrived()]
    first, second = buyers.get(0), buyers.get(0)
    assert first is not None
    assert second is not None
    assert (first.id, first.rule, first.firing, first.time, first.payload) == ("msg_1", "low", 1, 5, {"item": 1})
    assert second.id == "msg_2"
    assert buyers.get(0) is None
    assert others.get(0) is None


def test_all_listeners_of_a_channel_hear_it() -> None:
    hub = Notify()
    listeners = [hub.listen("buyers") for _ in range(3)]
    hub.send(message(1), 0)
    assert all(one.get(0) is not None for one in listeners)


def test_nobody_has_to_listen() -> None:
    assert Notify().send(message(1), 0) == Arrived()


def test_a_full_queue_loses_the_oldest_and_says_so() -> None:
    hub = Notify()
    listener = hub.listen("buyers", room=2)
    for number in range(5):
        hub.send(message(number), 0)
    assert listener.missed == 3
    listener.close()
    assert [notice.firing for notice in listener] == [3, 4]


def test_a_closed_listener_hears_nothing_and_is_let_go() -> None:
    hub = Notify()
    with hub.listen("buyers") as listener:
        pass
    hub.send(message(1), 0)
    listener.put(None)  # type: ignore[arg-type]
    assert list(listener) == []
    assert hub._listeners == {}


def test_one_who_waits_is_woken_and_the_end_ends_it() -> None:
    hub = Notify()
    listener = hub.listen("buyers")
    heard: list[int] = []
    thread = Thread(target=lambda: heard.extend(notice.firing for notice in listener))
    thread.start()
    for number in range(3):
        hub.send(message(number), 0)
    hub.close()
    thread.join(20)
    assert heard == [0, 1, 2]

"""The deliverer with a clock driven by hand and a channel that answers as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier

import pytest

from tests.unit.deliver.help import SECOND, fire
from tidings.clock import ManualClock
from tidings.deliver.channel import Arrived, Ended, Failed, Refused, SendOutcome
from tidings.deliver.deliverer import Deliverer
from tidings.retry_policy import RetryPolicy
from tidings.store.catalog.session import Session
from tidings.store.catalog.transactions import MemoryCatalog
from tidings.store.rules.messages import Message, MessageState
from tidings.store.rules.outbox import Outbox


@dataclass(slots=True)
class Told:
    """Answers with what was put in, then that it arrived."""

    answers: list[SendOutcome | BaseException] = field(default_factory=list)
    seen: list[tuple[int, str]] = field(default_factory=list)
    is_instant: bool = False

    def send(self, message: Message, now: int) -> SendOutcome:
        self.seen.append((now, message.id))
        answer = self.answers.pop(0) if self.answers else Arrived()
        if isinstance(answer, BaseException):
            raise answer
        return answer


PLAIN = RetryPolicy(jitter=0)


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    memory = MemoryCatalog()
    yield Outbox(memory)
    memory.close()


def made(
    outbox: Outbox, *answers: SendOutcome | BaseException, policy: RetryPolicy = PLAIN, is_instant: bool = False
) -> Deliverer:
    channel = Told(list(answers), is_instant=is_instant)
    return Deliverer(outbox, {"webhook": channel}, ManualClock(0), policy, workers=1)


def seen(deliverer: Deliverer) -> list[tuple[int, str]]:
    channel = deliverer.channels["webhook"]
    assert isinstance(channel, Told)
    return channel.seen


@pytest.mark.parametrize("is_instant", [False, True])
def test_what_is_due_is_delivered_once_and_in_order(outbox: Outbox, is_instant: bool) -> None:
    ids = fire(outbox, "a", "a", "b")
    deliverer = made(outbox, is_instant=is_instant)
    assert deliverer.step(7) == 3
    assert deliverer.step(8) == 0
    assert seen(deliverer) == [(7, id) for id in ids]
    assert [(e.state, e.settled) for e in outbox.entries()] == [(MessageState.DELIVERED, 7)] * 3


def test_waits_grow_and_the_last_failure_is_a_dead_letter(outbox: Outbox) -> None:
    (id,) = fire(outbox, "a")
    deliverer = made(outbox, *[Failed("500")] * 4, policy=RetryPolicy(attempts=4, jitter=0))
    for now in range(0, 100 * SECOND, SECOND):
        deliverer.step(now)
    assert seen(deliverer) == [(s * SECOND, id) for s in (0, 5, 20, 65)]
    (dead,) = outbox.entries(MessageState.DEAD)
    assert (dead.attempts, dead.error) == (4, "500")
    assert outbox.redeliver(100 * SECOND, id) == 1
    deliverer.step(100 * SECOND)
    assert seen(deliverer)[-1] == (100 * SECOND, id)
    assert outbox.counts()[MessageState.DELIVERED] == 1


def test_jitter_is_around_the_plain_wait() -> None:
    policy = RetryPolicy()
    assert [policy.wait(1, chance) for chance in (0.0, 0.5, 1.0)] == [3_750_000, 5_000_000, 6_250_000]


def test_waits_outlive_the_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.sqlite"
    session = Session(url)
    (id,) = fire(Outbox(session), "a")
    made(Outbox(session), Failed("500")).step(0)
    session.close()
    session = Session(url)
    deliverer = made(Outbox(session))
    assert [deliverer.step(now) for now in (0, 5 * SECOND - 1, 5 * SECOND)] == [0, 0, 1]
    assert seen(deliverer) == [(5 * SECOND, id)]
    session.close()


def test_a_failure_of_one_message_does_not_hold_up_the_next(outbox: Outbox) -> None:
    _, second = fire(outbox, "a", "a")
    deliverer = made(outbox, Failed("500"))
    deliverer.step(0)
    assert seen(deliverer)[-1] == (0, second)


@pytest.mark.parametrize("is_instant", [False, True])
def test_an_unreachable_target_is_tried_once_and_rests(outbox: Outbox, is_instant: bool) -> None:
    first, second, other = fire(outbox, "a", "a", "b")
    deliverer = made(outbox, Failed("no route", unreachable=True), is_instant=is_instant)
    deliverer.step(0)
    assert seen(deliverer) == [(0, first), (0, other)]
    found = outbox.find(second)
    assert found is not None
    assert (found.state, found.attempts) == (MessageState.WAITING, 0)
    assert deliverer.step(4 * SECOND) == 0
    assert deliverer.step(5 * SECOND) == 2
    assert outbox.counts()[MessageState.DELIVERED] == 3


def test_a_pause_the_other_side_wants_is_kept_by_all(outbox: Outbox) -> None:
    fire(outbox, "a", "a")
    deliverer = made(outbox, Failed("429", not_before=90 * SECOND))
    deliverer.step(0)
    fire(outbox, "a", at=SECOND)
    assert deliverer.step(89 * SECOND) == 0
    assert outbox.next_due(["webhook"]) == 90 * SECOND
    assert deliverer.step(90 * SECOND) == 3


def test_a_pause_of_years_is_one_of_a_day(outbox: Outbox) -> None:
    fire(outbox, "a")
    deliverer = made(outbox, Failed("503", not_before=10**17))
    deliverer.step(0)
    assert outbox.next_due(["webhook"]) == 24 * 3600 * SECOND


def test_a_short_pause_does_not_shorten_the_wait(outbox: Outbox) -> None:
    fire(outbox, "a")
    deliverer = made(outbox, Failed("503", not_before=SECOND))
    deliverer.step(0)
    assert outbox.next_due(["webhook"]) == 5 * SECOND


def test_a_target_that_ended_gets_nothing_more(outbox: Outbox) -> None:
    fire(outbox, "a", "a")
    deliverer = made(outbox, Ended("410 Gone"))
    deliverer.step(0)
    fire(outbox, "a", at=1)
    assert deliverer.step(10**15) == 0
    assert len(seen(deliverer)) == 1
    assert [e.error for e in outbox.entries(MessageState.DISABLED)][:2] == ["410 Gone", "410 Gone"]
    outbox.enable(5, "webhook", "a")
    assert deliverer.step(5) == 3


def test_what_cannot_succeed_is_dead_at_once(outbox: Outbox) -> None:
    fire(outbox, "a", "a")
    made(outbox, Refused("private")).step(0)
    assert [(e.state, e.error) for e in outbox.entries()] == [
        (MessageState.DEAD, "private"),
        (MessageState.DELIVERED, None),
    ]


def test_a_channel_that_breaks_is_a_failure_that_shows(outbox: Outbox) -> None:
    fire(outbox, "a")
    made(outbox, ZeroDivisionError("oh")).step(0)
    assert [(e.state, e.error) for e in outbox.entries()] == [(MessageState.WAITING, "ZeroDivisionError: oh")]


def test_messages_of_channels_that_are_not_there_wait(outbox: Outbox) -> None:
    fire(outbox, "a", channel="mail")
    assert made(outbox).step(10**15) == 0
    assert outbox.counts()[MessageState.WAITING] == 1


def test_a_message_that_ends_the_process_again_and_again_is_given_up(outbox: Outbox) -> None:
    fire(outbox, "a")
    for _ in range(3):
        outbox.recover()
        outbox.claim(0, ["webhook"])
    deliverer = made(outbox, policy=RetryPolicy(attempts=3))
    deliverer.step(0)
    assert seen(deliverer) == []
    assert outbox.counts()[MessageState.DEAD] == 1


def test_a_step_that_was_broken_off_leaves_nothing_behind(outbox: Outbox) -> None:
    fire(outbox, "a", "b")
    deliverer = made(outbox, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        deliverer.step(0)
    assert deliverer.step(0) == 2
    assert outbox.counts()[MessageState.DELIVERED] == 2


@dataclass(slots=True)
class Together:
    """Comes back when so many targets are being served at once."""

    barrier: Barrier
    is_instant: bool = False

    def send(self, message: Message, now: int) -> SendOutcome:
        self.barrier.wait(20)
        return Arrived()


def test_targets_do_not_wait_for_each_other(outbox: Outbox) -> None:
    fire(outbox, "a", "b", "c")
    Deliverer(outbox, {"webhook": Together(Barrier(3))}, ManualClock(0)).step()
    assert outbox.counts()[MessageState.DELIVERED] == 3


def test_what_was_delivered_is_forgotten_after_a_while_and_what_was_not_is_not(outbox: Outbox) -> None:
    fire(outbox, "a", "b", "c")
    deliverer = made(
        outbox, Refused("no"), Failed("busy", not_before=1), policy=RetryPolicy(kept=100 * SECOND, jitter=0)
    )
    deliverer.step(0)
    assert outbox.counts() == {
        MessageState.WAITING: 1,
        MessageState.DELIVERED: 1,
        MessageState.DEAD: 1,
        MessageState.DISABLED: 0,
    }
    deliverer.step(3599 * SECOND)
    assert outbox.counts()[MessageState.DELIVERED] == 2
    deliverer.step(3600 * SECOND)
    assert [e.state for e in outbox.entries()] == [MessageState.DEAD, MessageState.DELIVERED]
    assert outbox.endpoints() == []

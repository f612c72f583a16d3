"""A thread works when it is woken, goes on after errors, and ends when it is told to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, current_thread

import pytest

from tests.unit.eventually import LONG, eventually
from tidings import ManualClock
from tidings.errors import ReadOnly, StaleWriter
from tidings.worker_thread import Backoff, WorkerStatus, WorkerThread

QUICK = Backoff(0.001, 0.001)


@dataclass
class Work:
    """Counts how often it is done, and fails as often as it is told to."""

    errors: list[Exception] = field(default_factory=list)
    times: int = 0
    meanwhile: Callable[[], None] = lambda: None
    thread: WorkerThread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = WorkerThread("worker", self, ManualClock(7), logging.getLogger("tidings.test"), backoff=QUICK)

    def __call__(self) -> float:
        self.thread.wakeup.clear()
        self.times += 1
        self.meanwhile()
        if self.errors:
            raise self.errors.pop(0)
        return LONG


def test_it_works_at_once_and_whenever_it_is_woken() -> None:
    work = Work()
    assert work.thread.start()
    eventually(lambda: work.times == 1)
    work.thread.wakeup.set()
    eventually(lambda: work.times == 2)
    work.thread.stop()
    assert work.thread.status == WorkerStatus(running=False)


def test_it_is_started_once_and_may_be_started_again() -> None:
    work = Work()
    assert [work.thread.start(), work.thread.start()] == [True, False]
    work.thread.stop()
    work.thread.stop()
    before = work.times
    assert work.thread.start()
    eventually(lambda: work.times > before)
    work.thread.stop()


def test_it_goes_on_after_errors(caplog: pytest.LogCaptureFixture) -> None:
    work, seen = Work([ValueError("a"), ValueError("a"), ReadOnly()]), list[WorkerStatus]()
    work.meanwhile = lambda: seen.append(work.thread.status)
    work.thread.start()
    eventually(lambda: work.times == 4)
    work.thread.stop()
    assert [(s.running, s.error, s.failed_at, s.failures) for s in seen[:3]] == [
        (True, None, None, 0),
        (True, "ValueError: a", 7, 1),
        (True, "ValueError: a", 7, 2),
    ]
    assert seen[3].error is not None
    assert seen[3].error.startswith("ReadOnly")
    assert seen[3].failures == 3
    assert work.thread.status.error is None
    assert len(caplog.records) == 2, "an error is logged once, however often it comes"


def test_it_ends_when_another_process_is_the_writer() -> None:
    work = Work([StaleWriter(epoch=1, present=2)])
    work.thread.start()
    eventually(lambda: not work.thread.is_alive)
    assert work.times == 1
    assert work.thread.status.error is not None
    assert work.thread.start(), "it may be tried again"
    eventually(lambda: work.times == 2)
    work.thread.stop()


def test_what_is_being_done_is_waited_for() -> None:
    work, began, go_on, done = Work(), Event(), Event(), Event()

    def meanwhile() -> None:
        began.set()
        assert go_on.wait(LONG)
        done.set()

    work.meanwhile = meanwhile
    work.thread.start()
    assert began.wait(LONG)
    go_on.set()
    work.thread.stop()
    assert done.is_set()


def test_it_may_end_itself() -> None:
    work = Work()
    work.meanwhile = work.thread.stop
    work.thread.start()
    eventually(lambda: not work.thread.is_alive)
    work.meanwhile = lambda: None
    assert work.thread.start()
    eventually(lambda: work.times == 2)
    work.thread.stop()
    assert current_thread().is_alive()

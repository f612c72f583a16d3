"""What lets one thread in at a time, and nobody where going on would do damage."""

from __future__ import annotations

import os
from threading import Condition, Thread

import pytest

from tidings.errors import DatabaseClosed, DatabaseForked, DatabaseInDoubt, ReadOnly
from tidings.exclusive import Mutex


def torn_out(mutex: Mutex, error: BaseException, *, settled: bool = False) -> None:
    with mutex, mutex:
        mutex.settlement.begin()
        if settled:
            mutex.settlement.end()
        raise error


def test_it_is_taken_again_by_the_thread_that_has_it() -> None:
    mutex, order = Mutex(), []

    def other() -> None:
        with mutex:
            order.append("other")

    with mutex, mutex:
        thread = Thread(target=other)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_nobody_enters_what_is_refused() -> None:
    mutex = Mutex()
    mutex.refusal = DatabaseClosed()
    with pytest.raises(DatabaseClosed), mutex:
        pass
    with mutex.held():
        pass


def test_an_interrupt_after_something_was_recorded_leaves_it_in_doubt() -> None:
    mutex = Mutex()
    with pytest.raises(KeyboardInterrupt):
        torn_out(mutex, KeyboardInterrupt())
    with pytest.raises(DatabaseInDoubt), mutex:
        pass


@pytest.mark.parametrize("error", [ReadOnly(), KeyboardInterrupt()])
def test_what_is_settled_is_not_in_doubt(error: BaseException) -> None:
    mutex = Mutex()
    with pytest.raises(type(error)):
        torn_out(mutex, error, settled=True)
    with mutex:
        pass


def test_a_refusal_of_what_was_asked_is_no_doubt() -> None:
    mutex = Mutex()
    with pytest.raises(ReadOnly):
        torn_out(mutex, ReadOnly())
    with mutex:
        pass


def test_a_condition_waits_on_it() -> None:
    mutex = Mutex()
    news = Condition(mutex)  # type: ignore[arg-type]
    told = []

    def tell() -> None:
        with news:
            told.append(1)
            news.notify_all()

    with news, news:
        thread = Thread(target=tell)
        thread.start()
        assert news.wait_for(lambda: told, timeout=10)
    thread.join()


def test_a_forked_process_is_refused() -> None:
    mutex = Mutex()
    child = os.fork()
    if child == 0:
        try:
            with mutex:
                os._exit(1)
        except DatabaseForked:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

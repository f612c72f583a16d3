"""Instants: later commits never fall before what an answer was about."""

from __future__ import annotations

from threading import Condition

import pytest

from tests.unit.schema import bound
from tidings import ManualClock
from tidings.clock import BoundedClock
from tidings.engine.duckdb import DuckDB
from tidings.store.open import open_in_memory
from tidings.store.timeline import Timeline


@pytest.fixture
def timeline(clock: ManualClock) -> Timeline:
    return Timeline(open_in_memory(DuckDB()), BoundedClock(clock), Condition())


def test_commit_times_increase_though_the_clock_stands_still(timeline: Timeline) -> None:
    assert timeline.next() == 1000
    timeline.reach(1000)
    assert (timeline.next(), timeline.now()) == (1001, 1000)


def test_nothing_is_committed_up_to_an_instant_that_is_settled(timeline: Timeline) -> None:
    assert timeline.settle_until(2000) == 2000
    assert timeline.settle_until(1500) == 2000
    assert (timeline.settled(), timeline.next()) == (2000, 2001)


def test_a_reserved_instant_is_of_no_commit(timeline: Timeline) -> None:
    timeline.reach(5)
    assert [timeline.reserve_instant(), timeline.reserve_instant()] == [6, 7]
    assert (timeline.time, timeline.settled()) == (5, 7)


def test_only_what_reads_the_clock_is_about_now(timeline: Timeline) -> None:
    timeline.reach(5)
    assert timeline.present(bound("SELECT a FROM u")) == 5
    assert timeline.answered_until == 0
    assert timeline.present(bound("SELECT a FROM u WHERE timestamp_micros(c) <= current_timestamp()")) == 1000
    assert timeline.next() == 1001


def test_a_commit_that_fails_leaves_the_time_as_it_was(timeline: Timeline) -> None:
    timeline.reach(5)

    def fail() -> None:
        with timeline.reaching(8):
            assert timeline.time == 8
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (timeline.before, timeline.time) == (4, 5)
    with timeline.reaching(9):
        pass
    assert (timeline.before, timeline.time) == (5, 9)


def test_redefined_names_get_an_instant_of_no_commit(timeline: Timeline) -> None:
    timeline.reach(5)
    with timeline.redefining(["T"]):
        timeline.storage.journal.undefine([])
    assert timeline.storage.defined_since == {"t": 6}
    timeline.answered_until = 0
    timeline.remember()
    assert timeline.answered_until == 6

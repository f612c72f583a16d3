"""Attempts end when their time is over or when they are told to, whatever the other side does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Timer

import pytest

from tidings.deliver.attempts import Attempt, Attempts


@pytest.fixture
def listening() -> Iterator[tuple[str, int]]:
    """A server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


def read(attempt: Attempt, address: tuple[str, int]) -> bytes:
    """Read from a connection of an attempt, without any time-out."""
    host, port = address
    with attempt.connect([host], port) as connection:
        connection.settimeout(None)
        return connection.recv(1)


def test_an_attempt_ends_when_its_time_is_over(listening: tuple[str, int]) -> None:
    with pytest.raises(TimeoutError, match=r"within 0\.1 seconds"), Attempts().within(0.1) as attempt:
        read(attempt, listening)


def test_all_attempts_end_when_they_are_told_to(listening: tuple[str, int]) -> None:
    attempts = Attempts()
    timer = Timer(0.05, attempts.end_all)
    timer.start()
    with pytest.raises(TimeoutError, match="were stopped"), attempts.within(60) as attempt:
        read(attempt, listening)
    timer.join()


def test_what_begins_while_deliveries_are_stopped_connects_to_nobody(listening: tuple[str, int]) -> None:
    attempts, (host, port) = Attempts(), listening
    attempts.stopping.set()
    with pytest.raises(TimeoutError, match="were stopped"), attempts.within(60) as attempt:
        attempt.connect([host], port)


def test_what_goes_wrong_in_time_is_told_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), Attempts().within(60):
        _ = 1 / 0

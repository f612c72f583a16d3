"""Faults that are injected into a life, one per minute: each lasts some seconds, and then is over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests import postgresql
from tests.soak.life import Killed, Life


@contextmanager
def full_disk(life: Life) -> Iterator[None]:
    """No file may grow beyond a few kilobytes."""
    with _refusing(life, ("limit", life.rng.choice([0, 1 << 10, 1 << 14])), ("limit", None)):
        yield


@contextmanager
def read_only(life: Life) -> Iterator[None]:
    """No file can be made in the folder."""
    life.place.folder.parent.chmod(0o755)
    with _refusing(life, ("forbid", True), ("forbid", False)):
        yield


@contextmanager
def unreachable(life: Life) -> Iterator[None]:
    """No file of the folder can be opened any more."""
    life.place.folder.parent.chmod(0o700)
    with _refusing(life, ("forbid", True), ("forbid", False)):
        yield


@contextmanager
def slow_disk(life: Life) -> Iterator[None]:
    """Every sync of Tidings takes a twentieth of a second more."""
    _try(life, "slow", 0.05)
    yield
    _try(life, "slow", 0.0)


@contextmanager
def paused(life: Life) -> Iterator[None]:
    """The process stands still for two seconds."""
    os.kill(life.process.pid, signal.SIGSTOP)
    time.sleep(2)
    os.kill(life.process.pid, signal.SIGCONT)
    yield


@contextmanager
def killed_server(life: Life) -> Iterator[None]:
    """PostgreSQL is killed, and started again after a while."""
    assert life.place.catalog is not None
    folder = Path(life.place.catalog.partition("host=")[2].partition("&")[0])
    server = postgresql.Server(folder)
    life.disturbed = True
    server.stop()
    try:
        yield
    finally:
        server.start()
    life.in_doubt = True
    life.healed()


@contextmanager
def stopped_spark(life: Life) -> Iterator[None]:
    """Spark is stopped, or its JVM killed: the database is closed, and opened by another process."""
    life.disturbed = True
    life.must("stop_spark", life.rng.random() < 0.5)
    try:
        yield
    finally:
        life.end()
        life.spawn()
    life.in_doubt = False
    life.healed()


@contextmanager
def _refusing(life: Life, on: tuple[object, ...], off: tuple[object, ...]) -> Iterator[None]:
    """A fault of the child's process, in which it may refuse what it cannot do."""
    life.disturbed = True
    _try(life, *on)
    try:
        yield
    finally:
        _try(life, *off)
    life.healed()


def _try(life: Life, *command: object) -> None:
    """Tell the child something; one that has died meanwhile is raised again without the fault."""
    try:
        life.must(*command)
    except Killed:
        life.counts["kills"] += 1
        life.process.join(20)
        life.spawn()


Fault = Callable[[Life], AbstractContextManager[None]]

FAULTS: dict[str, tuple[Fault, ...]] = {
    "steady": (full_disk, slow_disk, read_only, unreachable, paused),
    "restless": (full_disk, slow_disk, paused),
    "remote": (killed_server, full_disk, slow_disk),
    "spark": (stopped_spark, slow_disk, paused),
}
"""Those of each life."""

"""Killed anywhere between firing and acknowledgement, nothing is lost and each receiver takes each message once.

A process fires and delivers to a receiver that answers, fails, hangs, acts and does not answer, wants a pause, or is
gone.  It is killed at a named point, a second one goes on, and at the end

- there is a message for each firing and target, once;
- each message has come to the receiver under one id, with one body, signed;
- a receiver that takes ids once has taken each message once;
- a target that is gone is disabled, and a pause is kept, also by the next process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.postgresql import schema, server
from tests.unit.deliver.life import FIRINGS, MOODS, STEP, fired
from tests.unit.deliver.receiver import Request
from tidings.deliver.deliverer import SENT
from tidings.deliver.signature import new_secret
from tidings.store.outbox import ACKNOWLEDGED, ADDED, CLAIMED, RECORDED, Outbox, State
from tidings.store.session import Session

LOST = {ADDED: 0, CLAIMED: 0, SENT: 1, ACKNOWLEDGED: 1, RECORDED: 0}
"""Points to be killed at, and how many answers have come by then that the catalog does not have."""
SECRET = new_secret()


@dataclass(frozen=True, slots=True)
class World:
    """A receiver, and a nursery of lives."""

    url: str
    nursery: subprocess.Popen[str]

    def life(self, catalog: str, case: str, workers: int, begin: int, *wanted: str) -> str:
        """Let a process live; how it ended."""
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        print(catalog, f"{self.url}/{case}", SECRET, workers, begin, *wanted, file=self.nursery.stdin, flush=True)
        return self.nursery.stdout.readline().strip()

    def requests(self, case: str) -> list[Request]:
        with urlopen(f"{self.url}/{case}", timeout=20) as answer:
            return [Request(**told) for told in json.load(answer)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running("tests.unit.deliver.receiver", SECRET) as receiver, running("tests.unit.deliver.life") as nursery:
        assert receiver.stdout is not None
        yield World(f"http://127.0.0.1:{receiver.stdout.readline().strip()}", nursery)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A module that runs until its input ends."""
    made = [sys.executable, "-m", *command]
    with subprocess.Popen(made, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


def check(world: World, catalog: str, case: str) -> list[Request]:
    """Everything is as promised; what came to the receiver."""
    session = Session(catalog)
    outbox = Outbox(session)
    entries, requests = outbox.entries(), world.requests(case)
    assert fired(session) == FIRINGS, case
    told = Counter((e.message.firing, e.message.target.rpartition("/")[2]) for e in entries)
    assert told == Counter((n, mood) for n in range(1, FIRINGS + 1) for mood in MOODS), case
    known = {e.message.id: e for e in entries}
    for request in requests:
        message = known[request.id].message
        assert request.signed, case
        assert message.target.endswith(f"/{request.mood}"), case
        assert request.body == message.payload, case
    counted = Counter(r.id for r in requests if r.counted)
    for entry in entries:
        is_gone = entry.message.target.endswith("/gone")
        assert entry.state is (State.DISABLED if is_gone else State.DELIVERED), f"{case}: {entry}"
        assert counted[entry.message.id] == (0 if is_gone else 1), f"{case}: {entry}"
    assert outbox.recover() == 0, case
    session.close()
    return requests


def check_moods(requests: list[Request], case: str, lost: int) -> None:
    """Targets got what they asked for, but for ``lost`` answers that nobody had time to record."""
    assert 1 <= len([r for r in requests if r.mood == "gone"]) <= 1 + lost, case
    busy = [r for r in requests if r.mood == "busy"]
    assert lost or all(r.timestamp >= busy[0].timestamp + 30 for r in busy[1:]), case
    assert FIRINGS <= len([r for r in requests if r.mood == "ok"]) <= FIRINGS + lost, case


def tried(world: World, catalog: str, case: str, workers: int, *wanted: str) -> None:
    """Lives that are killed as wanted, one after the other, and one that is not."""
    begin, lost = 0, 0
    for one in wanted:
        how = world.life(catalog, case, workers, begin, one)
        assert how == "killed", f"{case}: no life came by {one}: {how}"
        begin += STEP
        lost += LOST[one.partition(":")[0]] if workers == 1 else workers
    assert world.life(catalog, case, workers, begin) == "ended 0", case
    check_moods(check(world, catalog, case), case, lost)


def test_a_life_without_a_crash(world: World, tmp_path: Path) -> None:
    catalog = f"sqlite:///{tmp_path}/catalog.sqlite"
    assert world.life(catalog, "plain", 4, 0) == "ended 0"
    requests = check(world, catalog, "plain")
    check_moods(requests, "plain", 0)
    wanted = {"ok": 3, "fails": 9, "hangs": 6, "late": 6, "busy": 4, "gone": 1}
    assert Counter(r.mood for r in requests) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("time", [1, 2, 3])
@pytest.mark.parametrize("name", LOST)
def test_killed_at(name: str, time: int, world: World, tmp_path: Path) -> None:
    tried(world, f"sqlite:///{tmp_path}/catalog.sqlite", f"{name}-{time}", 1, f"{name}:{time}")


@pytest.mark.slow
@pytest.mark.parametrize("time", [4, 5, 6, 7])
def test_killed_after_each_mood(time: int, world: World, tmp_path: Path) -> None:
    tried(world, f"sqlite:///{tmp_path}/catalog.sqlite", f"mood-{time}", 1, f"{SENT}:{time}")


@pytest.mark.slow
@pytest.mark.parametrize("name", LOST)
def test_killed_with_a_catalog_in_postgresql(name: str, world: World, postgresql: str) -> None:
    catalog = schema(postgresql, f"at_{name.replace('.', '_')}")
    tried(world, catalog, f"postgresql-{name}", 4, f"{name}:2")


@pytest.mark.slow
def test_killed_again_and_again(world: World, tmp_path: Path) -> None:
    catalog = f"sqlite:///{tmp_path}/catalog.sqlite"
    wanted = [*(f"{SENT}:{time}" for time in (1, 2, 4)), f"{ACKNOWLEDGED}:2", f"{CLAIMED}:1"]
    tried(world, catalog, "again", 4, *wanted)

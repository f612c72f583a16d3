"""Killed anywhere between commit and acknowledgement, nothing is lost and each receiver takes each message once.

A process commits; its rules tell a receiver that answers, fails, hangs, acts and does not answer, wants a pause, or is
gone.  It is killed at a named point, a second one goes on, and at the end

- each commit has fired each rule once, and there is one message for it;
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
from tests.unit.deliver.delivering_process import COMMITS, MOODS, STEP, committed, opened
from tests.unit.deliver.receiver import Request
from tidings import ManualClock
from tidings.deliver.deliverer import SENT
from tidings.deliver.signature import new_secret
from tidings.store.rules.messages import MessageState, OutboxEntry
from tidings.store.rules.outbox import ACKNOWLEDGED, ADDED, CLAIMED, RECORDED, Outbox
from tidings.store.rules.rule_store import FIRED

LOST = {FIRED: 0, ADDED: 0, "commit.written": 0, "commit.done": 0, CLAIMED: 0, SENT: 1, ACKNOWLEDGED: 1, RECORDED: 0}
"""Points to be killed at, and how many answers have come by then that the catalog does not have."""
SECRET = new_secret()


Home = tuple[str, str]
"""A database: its folder, and its catalog if that is elsewhere."""


@dataclass(frozen=True, slots=True)
class World:
    """A receiver, and a nursery of lives."""

    url: str
    nursery: subprocess.Popen[str]

    def life(self, home: Home, case: str, workers: int, begin: int, *wanted: str) -> str:
        """Let a process live; how it ended."""
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        print(*home, f"{self.url}/{case}", SECRET, workers, begin, *wanted, file=self.nursery.stdin, flush=True)
        return self.nursery.stdout.readline().strip()

    def requests(self, case: str) -> list[Request]:
        with urlopen(f"{self.url}/{case}", timeout=20) as answer:
            return [Request(**told) for told in json.load(answer)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        running("tests.unit.deliver.receiver", SECRET) as receiver,
        running("tests.unit.deliver.delivering_process") as nursery,
    ):
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


def check(world: World, home: Home, case: str) -> list[Request]:
    """Everything is as promised; what came to the receiver."""
    with opened(*home, ManualClock(10**12)) as db:
        outbox = Outbox(db._parts.storage.rule_tables)
        entries, requests = outbox.entries(), world.requests(case)
        assert committed(db) == COMMITS, case
        firings = Counter((r["rule"], r["rows"]) for r in db.query("SELECT rule, rows FROM tidings.firings").rows())
        assert outbox.recover() == 0, case
    wanted = Counter((mood, n) for n in range(1, COMMITS + 1) for mood in MOODS)
    assert firings == Counter((mood, json.dumps([{"n": n}])) for mood, n in wanted), case
    assert Counter((e.message.rule, row(e)) for e in entries) == wanted, case
    known = {e.message.id: e for e in entries}
    for request in requests:
        message = known[request.id].message
        assert request.signed, case
        assert (request.mood, request.body) == (message.rule, message.payload), case
    counted = Counter(r.id for r in requests if r.counted)
    for entry in entries:
        is_gone = entry.message.rule == "gone"
        assert entry.state is (MessageState.DISABLED if is_gone else MessageState.DELIVERED), f"{case}: {entry}"
        assert counted[entry.message.id] == (0 if is_gone else 1), f"{case}: {entry}"
    return requests


def row(entry: OutboxEntry) -> int:
    ((n,),) = (found.values() for found in json.loads(entry.message.payload)["data"]["rows"])
    return int(n)


def check_moods(requests: list[Request], case: str, lost: int) -> None:
    """Targets got what they asked for, but for ``lost`` answers that nobody had time to record."""
    assert 1 <= len([r for r in requests if r.mood == "gone"]) <= 1 + lost, case
    busy = [r for r in requests if r.mood == "busy"]
    assert lost or all(r.timestamp >= busy[0].timestamp + 30 for r in busy[1:]), case
    assert COMMITS <= len([r for r in requests if r.mood == "ok"]) <= COMMITS + lost, case


def tried(world: World, home: Home, case: str, workers: int, *wanted: str) -> None:
    """Lives that are killed as wanted, one after the other, and one that is not."""
    begin, lost = 0, 0
    for one in wanted:
        how = world.life(home, case, workers, begin, one)
        assert how == "killed", f"{case}: no life came by {one}: {how}"
        begin += STEP
        lost += LOST[one.partition(":")[0]] if workers == 1 else workers
    assert world.life(home, case, workers, begin) == "ended 0", case
    check_moods(check(world, home, case), case, lost)


def test_a_life_without_a_crash(world: World, tmp_path: Path) -> None:
    home = (str(tmp_path), "-")
    assert world.life(home, "plain", 4, 0) == "ended 0"
    requests = check(world, home, "plain")
    check_moods(requests, "plain", 0)
    wanted = {"ok": 3, "fails": 9, "hangs": 6, "late": 6, "busy": 4, "gone": 1}
    assert Counter(r.mood for r in requests) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("time", [1, 3])
@pytest.mark.parametrize("name", LOST)
def test_killed_at(name: str, time: int, world: World, tmp_path: Path) -> None:
    tried(world, (str(tmp_path), "-"), f"{name}-{time}", 1, f"{name}:{time}")


@pytest.mark.slow
@pytest.mark.parametrize("time", [2, 4, 5, 6])
def test_killed_after_each_mood(time: int, world: World, tmp_path: Path) -> None:
    tried(world, (str(tmp_path), "-"), f"mood-{time}", 1, f"{SENT}:{time}")


@pytest.mark.slow
@pytest.mark.parametrize("name", LOST)
def test_killed_with_a_catalog_in_postgresql(name: str, world: World, postgresql: str, tmp_path: Path) -> None:
    catalog = schema(postgresql, f"at_{name.replace('.', '_')}")
    tried(world, (str(tmp_path), catalog), f"postgresql-{name}", 4, f"{name}:2")


@pytest.mark.slow
def test_killed_again_and_again(world: World, tmp_path: Path) -> None:
    wanted = [*(f"{SENT}:{time}" for time in (1, 2, 4)), f"{ACKNOWLEDGED}:2", f"{CLAIMED}:1"]
    tried(world, (str(tmp_path), "-"), "again", 4, *wanted)

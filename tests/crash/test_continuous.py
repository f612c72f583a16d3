"""Killed anywhere while continuous queries deliver, every row is delivered once, and told once to each subscriber.

A process goes through a history, a step a day, and advances and sends after each.  Where it dies, another one goes on
behind the last commit.  In the end each query has delivered what it would have without a crash, with the same instants,
and each row is in the messages of each subscriber once; a file may have a message twice, under one id.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.postgresql import schema, server
from tidings.deliver.deliverer import SENT
from tidings.store.rules.continuous_queries import MOVED
from tidings.store.rules.message_groups import TOLD
from tidings.store.rules.outbox import ACKNOWLEDGED, ADDED, CLAIMED, Outbox

SETUP = """
    CREATE TABLE progress (step INT);
    CREATE TABLE msgs (id INT, answers INT, ts TIMESTAMP);
    CREATE TABLE inbox (id INT, at TIMESTAMP);
    CREATE CONTINUOUS QUERY ever AS SELECT id FROM msgs;
    CREATE CONTINUOUS QUERY unanswered AS SELECT m.id FROM msgs m WHERE m.ts + INTERVAL 2 DAYS < now()
      AND NOT EXISTS (SELECT * FROM msgs r WHERE r.answers = m.id) WITH (every = INTERVAL 3 DAYS);
    CREATE RULE at_once WHEN SELECT * FROM ever DO FILE 'at_once.jsonl';
    CREATE RULE digest WHEN SELECT * FROM unanswered DO FILE 'digest.jsonl' WITH (group_at = '0 8 * * *');
    CREATE RULE copies WHEN SELECT * FROM unanswered DO INSERT INTO inbox SELECT id, matched_at FROM condition
"""

CODE = """
import sys
import tidings

folder, setup, catalog = sys.argv[1:]
DAY = 86_400_000_000
clock = tidings.ManualClock(0)
settings = tidings.DeliverySettings(files=folder + ".files")
kept = {"catalog": catalog or None, "retention": None, "deliveries": settings}
with tidings.open(folder, engine="duckdb", clock=clock, **kept) as db:
    if db._parts.relations.find("inbox") is None:
        for statement in setup.split(";"):
            db.sql(statement)
    done = max([0, *(row["step"] for row in db.query("progress").rows())])
    for step in range(done, 12):
        clock.set((step + 1) * DAY)
        if step < 8:
            with db.transaction() as tx:
                tx.insert("progress", [(step + 1,)])
                tx.insert("msgs", [(step, step - 1 if step % 3 == 1 else None, tidings.clock.instant(clock.now()))])
                if step % 4 == 3:
                    tx.sql(f"DELETE FROM msgs WHERE id = {step - 2}")
        for hours in (1, 9):
            clock.set((step + 1) * DAY + hours * DAY // 24)
            db.advance()
            db.deliveries.step()
"""

FAULTS = [
    *(f"{name}:{n}" for name in (MOVED, ADDED, TOLD) for n in (1, 3)),
    *(f"{name}:{n}" for name in (SENT, CLAIMED, ACKNOWLEDGED) for n in (1, 2)),
    *("commit.written:9", "commit.done:9", "commit.done:12"),
]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there after a life."""

    answers: dict[str, list[Any]]
    told: dict[str, Counter[int]]
    """How often the messages of each subscriber have each row; a message that came twice counts once."""
    inbox: list[Any]


def life(folder: Path, fault: str = "never", catalog: str = "") -> int:
    """Live until the end, or until the fault."""
    Path(f"{folder}.files").mkdir(exist_ok=True)
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"TIDINGS_FAULT": fault, "PYTHONPATH": paths}
    command = [sys.executable, "-c", CODE, str(folder), SETUP, catalog]
    return subprocess.run(command, env=environment, check=False).returncode


def seen(folder: Path, catalog: str = "") -> Seen:
    with tidings.open(folder, engine="duckdb", catalog=catalog or None) as db:
        answers = {q: sorted(tuple(r.values()) for r in db.query(q).rows()) for q in ("ever", "unanswered")}
        assert all(e.state == "delivered" for e in Outbox(db._parts.storage.rule_tables).entries())
        inbox = sorted(tuple(row.values()) for row in db.query("inbox").rows())
    told: dict[str, Counter[int]] = {}
    for rule in ("at_once", "digest"):
        lines = [json.loads(line) for line in Path(f"{folder}.files", f"{rule}.jsonl").read_text().splitlines()]
        messages = {line["id"]: line["data"]["rows"] for line in lines}
        told[rule] = Counter(row["id"] for rows in messages.values() for row in rows)
    return Seen(answers, told, inbox)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("undisturbed") / "d"
    assert life(folder) == 0
    return seen(folder)


def test_a_life_without_a_crash(undisturbed: Seen) -> None:
    assert [id for id, _ in undisturbed.answers["ever"]] == list(range(8))
    unanswered = undisturbed.answers["unanswered"]
    assert len(unanswered) >= 4
    assert undisturbed.inbox == unanswered
    assert undisturbed.told["at_once"] == Counter(range(8))
    assert undisturbed.told["digest"] == Counter(id for id, _ in unanswered)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_killed_at_a_point(tmp_path: Path, undisturbed: Seen, fault: str) -> None:
    assert life(tmp_path / "d", fault) == -signal.SIGKILL
    assert life(tmp_path / "d") == 0
    assert seen(tmp_path / "d") == undisturbed


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["never", f"{MOVED}:3", f"{TOLD}:1", f"{CLAIMED}:2"])
def test_with_a_catalog_in_postgresql(tmp_path: Path, undisturbed: Seen, postgresql: str, fault: str) -> None:
    catalog = schema(postgresql, f"life_{fault.replace('.', '_').replace(':', '_')}")
    if fault != "never":
        assert life(tmp_path / "d", fault, catalog) == -signal.SIGKILL
    assert life(tmp_path / "d", catalog=catalog) == 0
    assert seen(tmp_path / "d", catalog) == undisturbed

"""Killed anywhere while instances live, fall silent and are gathered, rules tell what they would have told.

A process goes through a history, a transaction per minute, and advances after each.  Where it dies, another one goes on
behind the last commit.  In the end the firings and messages are those of a life without a crash.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidings
from tests.postgresql import schema, server
from tidings.store.rules.outbox import Outbox

SETUP = """
    CREATE TABLE progress (step INT);
    CREATE TABLE stock (item INT PRIMARY KEY, qty INT);
    CREATE TABLE outage (item INT, seconds DOUBLE);
    CREATE VIEW low AS SELECT item, item % 2 AS part FROM stock WHERE qty < 10;
    INSERT INTO stock VALUES (1, 100), (2, 100), (3, 100), (4, 100);
    CREATE RULE tell WHEN SELECT item FROM low DO NOTIFY 'x'
      WITH (for = INTERVAL 2 MINUTES, keep_alive = INTERVAL 2 MINUTES, resolved);
    CREATE RULE gathers WHEN SELECT item, part FROM low DO NOTIFY 'y'
      WITH (group_by = part, group_wait = INTERVAL 3 MINUTES, group_interval = INTERVAL 4 MINUTES);
    CREATE RULE outages WHEN GONE SELECT item FROM low DO INSERT INTO outage SELECT item, seconds FROM condition
      WITH (keep_alive = INTERVAL 1 MINUTE);
    SILENCE RULE tell WHERE item = 3 FOR INTERVAL 1 DAY
"""

CODE = """
import sys
import tidings

folder, catalog, setup = sys.argv[1:]
history = [(1, 5), (2, 5), (3, 5), (1, 100), (1, 4), (4, 5), (2, 100), (4, 100), (3, 100), (1, 100), (2, 3), (2, 100)]
clock = tidings.ManualClock(0)
with tidings.open(folder, engine="duckdb", catalog=catalog or None, clock=clock, retention=None) as db:
    if db._parts.relations.find("progress") is None:
        db.sql(setup)
    done = max([0, *(row["step"] for row in db.query("progress").rows())])
    for step in range(done, len(history) + 8):
        clock.set((step + 1) * 60_000_000)
        if step < len(history):
            item, qty = history[step]
            with db.transaction() as tx:
                tx.insert("progress", [(step + 1,)])
                tx.update("stock", [{"item": item, "qty": qty}])
        clock.set((step + 1) * 60_000_000 + 30_000_000)
        db.advance()
"""

FAULTS = [
    *(f"{name}:{n}" for name in ("firing.written", "outbox.added", "group.told") for n in (1, 2, 4)),
    *("firing.settled:1", "commit.written:6", "commit.done:6", "commit.done:9"),
]


def life(folder: Path, catalog: str = "", fault: str = "never") -> int:
    """Live until the end, or until the fault."""
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"TIDINGS_FAULT": fault, "PYTHONPATH": paths}
    command = [sys.executable, "-c", CODE, str(folder), catalog, SETUP]
    return subprocess.run(command, env=environment, check=False).returncode


def seen(folder: Path, catalog: str = "") -> dict[str, list[Any]]:
    """What rules did and told; the numbers of firings depend on who is judged first."""
    with tidings.open(folder, engine="duckdb", catalog=catalog or None) as db:
        firings = [(f.rule, f.time, f.state, f.rows.to_pylist()) for f in db._parts.registry.store.firings()]
        messages = [json.loads(e.message.payload) for e in Outbox(db._parts.storage.rule_tables).entries()]
        outages = [tuple(row.values()) for row in db.query("outage").rows()]
    for message in messages:
        numbers = message["data"].pop("firings", None) or [message["data"].pop("firing")]
        assert len(set(numbers)) == len(numbers)
    return {
        "firings": sorted(firings, key=repr),
        "messages": sorted(messages, key=repr),
        "outages": sorted(outages),
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("undisturbed") / "d"
    assert life(folder) == 0
    return seen(folder)


def test_a_life_without_a_crash(undisturbed: dict[str, list[Any]]) -> None:
    states = {state for _, _, state, _ in undisturbed["firings"]}
    assert states == {"sent", "silenced", "done"}
    whens = [m["data"]["when"] for m in undisturbed["messages"] if "group" not in m["data"]]
    assert {"begins", "gone"} == set(whens)
    grouped = [len(m["data"]["rows"]) for m in undisturbed["messages"] if "group" in m["data"]]
    assert max(grouped) > 1
    assert len(undisturbed["outages"]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_killed_at_a_point(tmp_path: Path, undisturbed: dict[str, list[Any]], fault: str) -> None:
    assert life(tmp_path / "d", fault=fault) == -signal.SIGKILL
    assert life(tmp_path / "d") == 0
    assert seen(tmp_path / "d") == undisturbed


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["never", "group.told:2", "outbox.added:3"])
def test_with_a_catalog_in_postgresql(
    tmp_path: Path, undisturbed: dict[str, list[Any]], postgresql: str, fault: str
) -> None:
    catalog = schema(postgresql, f"life_{fault.replace('.', '_').replace(':', '_')}")
    if fault != "never":
        assert life(tmp_path / "d", catalog, fault) == -signal.SIGKILL
    assert life(tmp_path / "d", catalog) == 0
    assert seen(tmp_path / "d", catalog) == undisturbed

"""Killed anywhere while detached actions run, fail and are tried again: what they do is done once.

A process loads a table and commits a few orders.  One rule books them in SQL, one calls a procedure that fails the
first time it sees an order, one acts in the transaction that judges it.  Whoever comes after a crash goes on.  In the
end each order is booked, invoiced and counted once, and the procedure has been called a few times at most.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tests.postgresql import schema, server

CODE = """
import sys
from pathlib import Path
import pyarrow as pa
import tidings
from tidings.deliver.deliveries import DeliverySettings
from tidings.retry_policy import RetryPolicy

folder, catalog, calls = sys.argv[1:]
clock = tidings.ManualClock(0)
settings = DeliverySettings(policy=RetryPolicy(first=1_000_000, jitter=0, longest=1_000_000))
with tidings.open(folder, engine="duckdb", catalog=catalog or None, clock=clock, deliveries=settings) as db:
    if db._parts.relations.find("orders") is None:
        db.sql("CREATE TABLE orders (id INT)")
    if db._parts.relations.find("booked") is None:
        db.sql("CREATE TABLE booked (id INT); CREATE TABLE invoiced (id INT); CREATE TABLE counted (id INT)")
    for rule in (
        "book WHEN SELECT id FROM orders DO INSERT INTO booked SELECT id FROM condition",
        "invoice WHEN SELECT id FROM orders DO CALL invoice(id)",
        "count WHEN SELECT id FROM orders DO INSERT INTO counted SELECT id FROM condition"
        " WITH (condition = 'detached', action = 'immediate')",
    ):
        db.sql("CREATE RULE IF NOT EXISTS " + rule)

    @db.procedure("invoice", each=True)
    def invoice(row, tx):
        tx.insert("invoiced", [(row["id"],)])
        with Path(calls).open("a+") as lines:
            lines.seek(0)
            first = str(row["id"]) not in lines.read().split()
            print(row["id"], file=lines)
        if first:
            raise ConnectionError("not yet")

    if not len(db.query("orders")):
        db.load("orders", pa.table({"id": pa.array([1], pa.int32())}))
    for step in range(12):
        clock.set((step + 1) * 1_000_000 + db.time)
        done = len(db.query("orders"))
        if done < 3:
            db.sql(f"INSERT INTO orders VALUES ({done + 1})")
        db.advance()
"""

FAULTS = [
    *(f"{name}:{n}" for name in ("firing.written", "firing.settled") for n in (1, 2, 3, 5)),
    *("outbox.claimed:1", "outbox.acknowledged:1", "fold.written:1", "fold.done:1"),
    *(f"commit.{where}:{n}" for where in ("written", "done") for n in (1, 2, 3, 4, 6)),
]


def life(folder: Path, catalog: str = "", fault: str = "never") -> int:
    """Live until the end, or until the fault."""
    paths = os.pathsep.join([str(Path(tidings.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"TIDINGS_FAULT": fault, "PYTHONPATH": paths}
    command = [sys.executable, "-c", CODE, str(folder / "d"), catalog, str(folder / "calls")]
    return subprocess.run(command, env=environment, check=False).returncode


def check(folder: Path, catalog: str = "") -> None:
    with tidings.open(folder / "d", engine="duckdb", catalog=catalog or None) as db:
        for table in ("orders", "booked", "invoiced", "counted"):
            assert Counter(row["id"] for row in db.query(table).rows()) == Counter([1, 2, 3]), table
        kept = db._parts.registry.store.firings()
    fired = Counter((f.rule, row["id"], f.state) for f in kept for row in f.rows.to_pylist())
    assert fired == Counter((rule, id, "done") for rule in ("book", "invoice", "count") for id in (1, 2, 3))
    called = Counter((folder / "calls").read_text().split())
    assert set(called) == {"1", "2", "3"}
    assert all(2 <= times <= 3 for times in called.values())


def test_a_life_without_a_crash(tmp_path: Path) -> None:
    assert life(tmp_path) == 0
    check(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_killed_at_a_point(tmp_path: Path, fault: str) -> None:
    assert life(tmp_path, fault=fault) == -signal.SIGKILL
    assert life(tmp_path) == 0
    check(tmp_path)


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["firing.settled:2", "outbox.claimed:1", "commit.written:4"])
def test_killed_with_a_catalog_in_postgresql(tmp_path: Path, postgresql: str, fault: str) -> None:
    catalog = schema(postgresql, f"actions_{fault.replace('.', '_').replace(':', '_')}")
    assert life(tmp_path, catalog, fault) == -signal.SIGKILL
    assert life(tmp_path, catalog) == 0
    check(tmp_path, catalog)

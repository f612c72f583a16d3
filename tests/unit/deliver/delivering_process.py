"""A process whose rules fire and whose messages are delivered, killed at a named fault point.

Run as ``python -m tests.unit.deliver.delivering_process``.  It reads cases from standard input as ``folder catalog
receiver secret workers begin fault``, one per line, forks a child for each, and answers with how the child ended;
``catalog`` is ``-`` for the one in the folder.  A child commits until all rows are there, and delivers for a while what
its rules send, by a clock of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback

import tidings
from tidings import Database, ManualClock
from tidings.deliver.deliveries import Deliveries, DeliverySettings
from tidings.retry_policy import SECOND, RetryPolicy
from tidings.store import fault_points as fault

MOODS = ("ok", "fails", "hangs", "late", "busy", "gone")
COMMITS = 3
STEP = 10 * SECOND
STEPS = 20


def opened(folder: str, catalog: str, clock: ManualClock) -> Database:
    return tidings.open(folder, engine="duckdb", clock=clock, catalog=None if catalog == "-" else catalog)


def committed(db: Database) -> int:
    (row,) = db.query("SELECT count(*) AS rows FROM t").rows()
    return int(row["rows"])


def live(folder: str, catalog: str, receiver: str, secret: str, workers: int, begin: int) -> None:
    """Commit what has not been committed, and deliver."""
    clock = ManualClock(begin)
    with opened(folder, catalog, clock) as db:
        if db._parts.relations.find("t") is None:
            db.sql("CREATE TABLE t (n INT PRIMARY KEY)")
            for mood in MOODS:
                db.sql(f"CREATE RULE {mood} WHEN SELECT n FROM t DO WEBHOOK '{receiver}/{mood}'")
        policy = RetryPolicy(jitter=0, longest=STEP)
        settings = DeliverySettings([secret], allow=["127.0.0.0/8"], timeout=0.3, workers=workers, policy=policy)
        deliveries = Deliveries(db._parts.storage.rule_tables, clock, settings)
        for now in range(begin, begin + STEPS * STEP, STEP):
            clock.set(now)
            number = committed(db) + 1
            if number <= COMMITS:
                db.sql(f"INSERT INTO t VALUES ({number})")
            deliveries.step()
        deliveries.close()


def main() -> None:
    for line in sys.stdin:
        folder, catalog, receiver, secret, workers, begin, *wanted = line.split()
        child = os.fork()
        if not child:
            try:
                for one in wanted:
                    fault.arm(one)
                live(folder, catalog, receiver, secret, int(workers), int(begin))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()

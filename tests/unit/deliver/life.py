"""Lives of a process that fires and delivers, each ended at a named point: ``python -m tests.unit.deliver.life``.

Reads cases from standard input as ``catalog receiver secret workers begin fault``, one per line, forks for each, and
answers with how it ended.  A life fires until all firings are recorded, and delivers for a while by a clock of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from ipaddress import ip_network

from sqlalchemy import text

from tidings.clock import ManualClock
from tidings.deliver.deliverer import Deliverer
from tidings.deliver.policy import SECOND, Policy
from tidings.deliver.webhook import Webhook
from tidings.store import fault
from tidings.store.outbox import Message, Outbox, add
from tidings.store.session import Session

MOODS = ("ok", "fails", "hangs", "late", "busy", "gone")
FIRINGS = 3
STEP = 10 * SECOND
STEPS = 20


def fired(session: Session) -> int:
    with session.reading() as connection:
        return int(connection.execute(text("SELECT count(*) FROM fired")).scalar_one())


def live(catalog: str, receiver: str, secret: str, workers: int, begin: int) -> None:
    """Fire what has not been fired, and deliver."""
    session = Session(catalog)
    outbox = Outbox(session)
    with session.writing() as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS fired (n INTEGER PRIMARY KEY)"))
    hook = Webhook([secret], allow=[ip_network("127.0.0.0/8")], timeout=0.3)
    deliverer = Deliverer(outbox, {"webhook": hook}, ManualClock(begin), Policy(jitter=0, longest=STEP), workers)
    for now in range(begin, begin + STEPS * STEP, STEP):
        number = fired(session) + 1
        if number <= FIRINGS:
            fire(session, number, receiver, now)
        while deliverer.step(now):
            pass
    session.close()


def fire(session: Session, number: int, receiver: str, now: int) -> None:
    """A firing with a message for each mood, all in one transaction."""
    payload = json.dumps({"firing": number})
    with session.writing() as connection:
        connection.execute(text("INSERT INTO fired VALUES (:n)"), {"n": number})
        add(connection, [Message("r", number, "webhook", f"{receiver}/{mood}", payload, now) for mood in MOODS])


def main() -> None:
    for line in sys.stdin:
        catalog, receiver, secret, workers, begin, *wanted = line.split()
        child = os.fork()
        if not child:
            try:
                for one in wanted:
                    fault.arm(one)
                live(catalog, receiver, secret, int(workers), int(begin))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()

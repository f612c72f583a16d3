"""Latency: from a commit to the reader who is told of it, at 1, 10 and 100 transactions per second.

One thread commits on a schedule, each time another quantity for one item, so that the condition of the inventory
changes with every transaction.  Another follows the condition.  Both are of one process, as a small service would have
it; a database lets one thread in at a time, so commits wait for waves, and a wave takes along all that were committed
while the one before it ran.

    told      from the acknowledged commit to the batch in the reader's hands
    whole     from the instant the transaction was due, so that waiting to commit counts too

    python -m benchmarks.latency [items] [transactions per second …]
"""

from __future__ import annotations

import math
import random
import sys
import time
from dataclasses import dataclass, field
from threading import Event, Thread

import tidings
from benchmarks.data.inventory import load
from benchmarks.measure import percentile, progress
from benchmarks.report import Plot, Report, Table, finished, ms
from benchmarks.setting import EXECUTIONS, database, never_fold, stop_spark
from tidings.front.choices import Engine, Execution

RATES = (1, 10, 100)
SECONDS = 30.0
PATIENCE = 60.0
"""How long the reader waits for what is missing at the end."""


@dataclass(slots=True)
class Found:
    """What was measured at one rate; times in seconds."""

    items: int
    execution: Execution
    rate: int
    due: dict[int, float] = field(default_factory=dict)
    """By the time of a transaction, when it was due,"""
    committed: dict[int, float] = field(default_factory=dict)
    """when it was acknowledged,"""
    told: dict[int, float] = field(default_factory=dict)
    """and when the reader had it."""
    seconds: float = 0.0

    @property
    def reached(self) -> float:
        """Transactions per second that were committed."""
        return len(self.committed) / self.seconds

    def after_commit(self) -> list[float]:
        return [max(0.0, self.told[t] - at) for t, at in self.committed.items() if t in self.told]

    def whole(self) -> list[float]:
        return [self.told[t] - at for t, at in self.due.items() if t in self.told]

    def commits(self) -> list[float]:
        return [self.committed[t] - at for t, at in self.due.items()]

    @property
    def lost(self) -> int:
        """Transactions the reader was never told of: there must be none."""
        return len(self.committed) - len(self.after_commit())


def main(items: int = 1_000_000, *rates: int) -> None:
    found = [f for execution in EXECUTIONS for f in measured(items, execution, rates or RATES)]
    stop_spark()
    report(found).publish()


def measured(
    items: int,
    execution: Execution,
    rates: tuple[int, ...] = RATES,
    *,
    engine: Engine = "spark",
    seconds: float = SECONDS,
    warm: int = 10,
) -> list[Found]:
    """One database, and one rate after the other."""
    progress(f"latency: loading {items:,} items, execution {execution} …")
    with database(engine, execution=execution) as db:
        load(db, items)
        never_fold(db)
        writer = Writer(db, items)
        for _ in range(warm):
            since = db.time
            writer.commit()
            list(db.subscribe("low_stock", since=since))
        out = []
        for rate in rates:
            progress(f"latency: {rate} transactions per second …")
            out.append(_at(writer, Found(items, execution, rate), seconds))
    return out


@dataclass(slots=True)
class Writer:
    """Makes transactions that each change the condition: quantities below nothing, none of them twice."""

    db: tidings.Database
    items: int
    rng: random.Random = field(default_factory=lambda: random.Random(17))
    qty: int = 0

    def commit(self) -> int:
        self.qty -= 1
        with self.db.transaction() as tx:
            tx.update("quantity", [{"item": self.rng.randrange(self.items), "qty": self.qty}])
        assert tx.time is not None
        return tx.time


def _at(writer: Writer, found: Found, seconds: float) -> Found:
    """Commit on schedule while a reader follows, and wait until it has all; twice the time is the most there is."""
    subscription = writer.db.subscribe("low_stock", since=writer.db.time, follow=True, timeout=0.2)
    over = Event()

    def read() -> None:
        end = math.inf
        while time.perf_counter() < end and not (over.is_set() and len(found.told) >= len(found.committed)):
            for batch in subscription:
                found.told[batch.time] = time.perf_counter()
            if over.is_set() and end == math.inf:
                end = time.perf_counter() + PATIENCE

    reader = Thread(target=read, name="reader")
    reader.start()
    start = time.perf_counter()
    for n in range(max(2, round(found.rate * seconds))):
        due = start + n / found.rate
        time.sleep(max(0.0, due - time.perf_counter()))
        if time.perf_counter() - start > 2 * seconds:
            break
        at = writer.commit()
        found.due[at], found.committed[at] = due, time.perf_counter()
    found.seconds = time.perf_counter() - start
    over.set()
    reader.join()
    return found


def report(found: list[Found]) -> Report:
    header = (
        "execution",
        "per second",
        "reached",
        "told p50",
        "told p99",
        "whole p50",
        "whole p99",
        "commit p50",
        "lost",
    )
    rows = []
    for f in found:
        told, whole, commits = f.after_commit(), f.whole(), f.commits()
        shown = (percentile(t, p) for t in (told, whole) for p in (0.5, 0.99))
        cells = (*map(ms, shown), ms(percentile(commits, 0.5)), str(f.lost))
        rows.append((f.execution, str(f.rate), f"{f.reached:.1f}", *cells))
    about = (
        f"From commit to reader, over {found[0].items:,} items; each transaction updates one and changes the answer.\n"
        "told: from the acknowledged commit; whole: from when the transaction was due; p99 of few is the greatest."
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    for f in found:
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            lines.setdefault(f"{f.execution}, {name}", []).append((f.rate, percentile(f.after_commit(), share)))
    plot = Plot("latency", "From an acknowledged commit to the reader", "transactions per second", "seconds", lines)
    return finished("latency", about, [Table("latency", header, tuple(rows))], (), [plot])


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

"""Commits with all that hangs on them: from the transaction to views, rules and readers that have taken it in.

*One commit* updates one row of the inventory.  A rule is judged before it is acknowledged, then a stored view is
brought up to date, and a subscription to it reads what changed.  How much of that the disk takes is measured beside it:
twice the time of writing and syncing a page, since the commit and the view are each made durable.

*A busy database* has many stored views and rules.  One thread commits on a schedule; another brings views and rules up
to date, again and again, and has told of a commit when that is done.

    python -m benchmarks.commits [items] [commits per second]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from threading import Event, Thread

from benchmarks.data.inventory import Sales, load
from benchmarks.data.rulebook import write
from benchmarks.data.watchers import watch
from benchmarks.measure import Figure, measure_in_turns, nothing, percentile, progress
from benchmarks.report import Bar, Report, Table, finished, ms
from benchmarks.setting import database, never_fold, stop_spark
from tidings.front.choices import Engine

VIEWS, RULES, RATE, SECONDS = 20, 20, 45, 30.0
ONE_COMMIT, SYNC = "commit, rule, view, reader", "two syncs of a page"
WHOLE_LIMIT, TOLD_LIMIT = 10.0, 100.0
"""Milliseconds of one commit, and of 99 in 100 commits until they are told of."""


@dataclass(slots=True)
class Busy:
    """What was measured of a busy database; times in seconds."""

    rate: int
    views: int
    rules: int
    committed: dict[int, float] = field(default_factory=dict)
    """When each transaction was acknowledged that is not told of yet, by its time."""
    told: list[float] = field(default_factory=list)
    """How long after that views and rules had taken it in, of those that are."""
    late: list[float] = field(default_factory=list)
    """How long after it was due each was acknowledged."""
    seconds: float = 0.0

    @property
    def reached(self) -> float:
        return len(self.late) / self.seconds


def main(items: int = 100_000, rate: int = RATE) -> None:
    one, busy = one_commit(items), busy_database(items, rate)
    stop_spark()
    report(one, busy).publish()


def one_commit(items: int, *, engine: Engine = "spark", runs: int = 40, warm: int = 10) -> dict[str, Figure]:
    """Measure one commit with all that hangs on it."""
    progress(f"commits: one commit, {items:,} items …")
    with database(engine, execution="auto") as db, tempfile.TemporaryFile() as page:
        load(db, items)
        never_fold(db)
        db.sql("CREATE MATERIALIZED VIEW low AS SELECT item, qty, threshold FROM low_stock")
        db.sql("CREATE RULE alarm WHEN SELECT item, qty FROM low_stock WHERE qty < 5 DO NOTIFY 'watchers'")
        sales, subscription = Sales(db, items), db.subscribe("low", since=db.time)

        def commit() -> None:
            sales.commit(1)
            db.advance()
            list(subscription)

        def sync() -> None:
            for _ in range(2):
                page.write(b"x" * 4096)
                page.flush()
                os.fsync(page.fileno())

        return measure_in_turns({ONE_COMMIT: (nothing, commit), SYNC: (nothing, sync)}, runs=runs, warm=warm)


def busy_database(
    items: int,
    rate: int = RATE,
    *,
    engine: Engine = "spark",
    views: int = VIEWS,
    rules: int = RULES,
    seconds: float = SECONDS,
    warm: int = 10,
) -> Busy:
    """Commit on schedule, and bring views and rules up to date beside it; twice the time is the most there is."""
    progress(f"commits: {rate} per second, {views} views, {rules} rules …")
    busy, over, rng = Busy(rate, views, rules), Event(), random.Random(5)
    with database(engine, execution="auto") as db:
        load(db, items)
        never_fold(db)
        watch(db, 0, views)
        write(db, rules)

        def commit() -> int:
            with db.transaction() as tx:
                tx.update("quantity", [{"item": rng.randrange(items), "qty": rng.randrange(10, 300)}])
            assert tx.time is not None
            return tx.time

        def tell() -> None:
            while not over.is_set() or busy.committed:
                waiting = dict(busy.committed)
                if not waiting:
                    time.sleep(0.001)
                    continue
                until, now = db.advance(), time.perf_counter()
                for at, acknowledged in waiting.items():
                    if at <= until:
                        busy.told.append(now - acknowledged)
                        del busy.committed[at]

        for _ in range(warm):
            commit()
            db.advance()
        teller = Thread(target=tell, name="teller")
        teller.start()
        start = time.perf_counter()
        for n in range(max(2, round(rate * seconds))):
            due = start + n / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            if time.perf_counter() - start > 2 * seconds:
                break
            at, acknowledged = commit(), time.perf_counter()
            busy.committed[at] = acknowledged
            busy.late.append(acknowledged - due)
        busy.seconds = time.perf_counter() - start
        over.set()
        teller.join()
    return busy


def report(one: dict[str, Figure], busy: Busy) -> Report:
    rows = tuple((f.name, ms(f.median), ms(f.low), ms(f.high)) for f in one.values())
    single = Table("one commit of one row", ("measured", "median", "lowest", "highest"), rows)
    told, late = busy.told, busy.late
    cells = (
        str(busy.rate),
        f"{busy.reached:.1f}",
        ms(percentile(told, 0.5)),
        ms(percentile(told, 0.99)),
        ms(percentile(late, 0.5)),
        ms(percentile(late, 0.99)),
    )
    header = ("per second", "reached", "told p50", "told p99", "committed p50", "committed p99")
    many = Table(f"{busy.views} stored views and {busy.rules} rules", header, (cells,))
    bars = [
        Bar("one commit with a rule, a stored view and a reader, ms", one[ONE_COMMIT].median * 1000, WHOLE_LIMIT, True),
        Bar("commits per second / those that were due", busy.reached / busy.rate, 0.98, False),
        Bar("told, 99 in 100, ms", percentile(told, 0.99) * 1000, TOLD_LIMIT, True),
    ]
    about = (
        "Commits of one updated item in a durable database, small waves in the process.\n"
        "told: from the acknowledged commit until views and rules have taken it in; committed: from when it was due."
    )
    return finished("commits", about, [single, many], bars)


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

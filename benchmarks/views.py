"""Many views over the same tables: what two hundred cost, where one is enough to pay for the join they share.

The views are stored, over the inventory, in eight families; most read "quantity below threshold" and do something of
their own with it.  After a batch of transactions all are brought up to date by one ``db.advance()``, which is timed.

    python -m benchmarks.views [items] [number of views …]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import tidings
from benchmarks import spent
from benchmarks.data.inventory import Sales, load
from benchmarks.data.watchers import FAMILIES, watch
from benchmarks.measure import Figure, measure_in_turns, progress
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from benchmarks.setting import EXECUTIONS, database, never_fold, stop_spark
from tidings.front.choices import Engine, Execution
from tidings.waves.record import WaveRecord

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
TRANSACTIONS = 100
LIMIT = 25.0


@dataclass(slots=True)
class Found:
    """The time of one advance, by number of views."""

    items: int
    execution: str
    figures: dict[int, Figure] = field(default_factory=dict)
    records: dict[int, list[WaveRecord]] = field(default_factory=dict)
    """The waves of the last advance."""

    def ratio(self, count: int) -> float:
        return self.figures[count].median / self.figures[min(self.figures)].median


def main(items: int = 100_000, *counts: int) -> None:
    found = [measured(items, execution, counts or COUNTS) for execution in EXECUTIONS]
    stop_spark()
    report(found).publish()


def measured(
    items: int,
    execution: Execution,
    counts: tuple[int, ...] = COUNTS,
    *,
    engine: Engine = "spark",
    transactions: int = TRANSACTIONS,
    runs: int = 5,
) -> Found:
    """Add views and advance them all, more and more."""
    progress(f"views: loading {items:,} items, execution {execution} …")
    found, made = Found(items, execution), 0
    with database(engine, execution=execution, clock=tidings.ManualClock(1)) as db:
        load(db, items)
        never_fold(db)
        sales = Sales(db, items)
        for count in counts:
            progress(f"views: {count} views …")
            watch(db, made, count)
            made = count
            fewer = max(1, min(runs, 3)) if count > 20 else runs
            works = {"": (lambda: sales.commit(transactions), db.advance)}
            found.figures[count] = measure_in_turns(works, runs=fewer, warm=1 if count > 20 else 2)[""]
            found.records[count] = [r for r in db.waves() if r.until == db.time]
            progress(f"views: {count} views take {found.figures[count].median:.2f} s")
    return found


def report(found: list[Found]) -> Report:
    header = ("execution", "views", "advance", "lowest", "highest", "times one view", "per view")
    rows = [
        (
            f.execution,
            str(count),
            ms(figure.median),
            ms(figure.low),
            ms(figure.high),
            times(f.ratio(count)),
            ms(figure.median / count),
        )
        for f in found
        for count, figure in f.figures.items()
    ]
    records = {f"{f.execution}, {count} views": r for f in found for count, r in f.records.items()}
    occupied = spent.total("what all waves of the last advance were occupied with", records)
    about = (
        f"Stored views of {len(FAMILIES)} families over {found[0].items:,} items, advanced together after"
        f" {TRANSACTIONS} transactions of one updated item each."
    )
    bars = [
        Bar(f"{f.execution}, {max(f.figures)} views / one view", f.ratio(max(f.figures)), LIMIT, True)
        for f in found
        if len(f.figures) > 1
    ]
    lines = {f.execution: [(float(n), x.median) for n, x in f.figures.items()] for f in found}
    first = found[0].figures[min(found[0].figures)].median
    lines["as many times one"] = [(float(n), first * n) for n in found[0].figures]
    plot = Plot("views", "Views over the same tables, one advance", "views", "seconds", lines)
    return finished("views", about, [Table("one advance of all views", header, tuple(rows)), occupied], bars, [plot])


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

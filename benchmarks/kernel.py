"""The kernel: compile time per view, and one small wave against a trivial query and a full recompute.

Bars: a 10-row wave of the inventory condition at a million items takes at most 6 times as long as one trivial one-job
query on the same cached table, and is at least 5 times faster than recomputing the view.

    python -m benchmarks.kernel [items]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import tidings
from benchmarks.data.inventory import LOW_STOCK, RECOMPUTE, TABLES, Sales, load
from benchmarks.measure import measure, measure_in_turns, nothing, progress, report
from benchmarks.setting import PlainSpark, database, stop_spark
from tidings.delta.plan import compile_program
from tidings.engine.sql.lower import lower

CHANGED = frozenset({"quantity"})


def main(items: int = 1_000_000) -> None:
    with database(clock=tidings.ManualClock(1)) as db:
        progress(f"kernel: loading {items:,} items …")
        load(db, items)
        lines = [*_compile_times(db), "", *_scheduler(db, items)]
    stop_spark()
    report("kernel", lines)


def _compile_times(db: tidings.Database) -> list[str]:
    """From text to SQL, stage by stage."""
    definitions = db._parts.relations.definitions()
    plan = db._parts.plans.parse(LOW_STOCK)
    program = compile_program("low_stock", plan, CHANGED, definitions)
    works: dict[str, Callable[[], object]] = {
        "parse and bind, with Spark's analyzer": lambda: db._parts.plans.parse(LOW_STOCK),
        "normalise, differentiate, restrict": lambda: compile_program("low_stock", plan, CHANGED, definitions),
        "print SQL": lambda: lower(program.steps[-1].plan, db._parts.backend.dialect, CHANGED),
    }
    title = "compile time of low_stock, once per view and set of changed influents"
    return [title, *(str(measure(name, work)) for name, work in works.items())]


def _scheduler(db: tidings.Database, items: int) -> list[str]:
    """Waves over new quantities for random items, one transaction each; the wave covers them all."""
    rng, sales, plain = random.Random(7), Sales(db, items), PlainSpark(db, TABLES)
    since: list[int] = []

    def wave() -> object:
        return db.changes("low_stock", since=since.pop(), per_commit=True)

    def point() -> object:
        return plain.trivial(f"SELECT * FROM quantity WHERE item = {rng.randrange(items)}")

    figures = measure_in_turns(
        {
            "one row by key": (nothing, point),
            "sum of one column": (nothing, lambda: plain.fetch("SELECT SUM(qty) FROM quantity")),
            "wave of 10 changes": (lambda: since.append(sales.commit(10)), wave),
            "wave of 100 changes": (lambda: since.append(sales.commit(100)), wave),
        }
    )
    recompute = measure("full recompute, fetched", lambda: plain.fetch(RECOMPUTE), runs=5, warm=2)
    ten, hundred = figures["wave of 10 changes"], figures["wave of 100 changes"]
    trivial = min((figures["one row by key"], figures["sum of one column"]), key=lambda f: f.median)
    return [
        f"one wave over {items:,} items in Spark local mode, tables cached and sorted by item",
        *map(str, figures.values()),
        str(recompute),
        "",
        f"10 changes: {ten.median / trivial.median:.1f} times the trivial query ({trivial.name}); bar: at most 6",
        f"10 changes: {recompute.median / ten.median:.1f} times faster than recompute; bar: at least 5",
        f"100 changes: {hundred.median / trivial.median:.1f} times the trivial query",
        f"100 changes: {recompute.median / hundred.median:.1f} times faster than recompute",
    ]


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

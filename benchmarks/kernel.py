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
from benchmarks.inventory import LOW_STOCK, load
from benchmarks.measure import measure, measure_in_turns, nothing, report
from tidings.delta.plan import compile_program
from tidings.engine.lower import lower
from tidings.engine.spark import Spark

CHANGED = frozenset({"quantity"})


def main(items: int = 1_000_000) -> None:
    db = tidings.open(engine="spark", clock=tidings.ManualClock(1))
    print(f"loading {items:,} items …", file=sys.stderr)
    load(db, items)
    backend = db._backend
    assert isinstance(backend, Spark)
    lines = [*_compile_times(db), "", *_waves(db, backend, items)]
    report("kernel", lines)
    db.close()
    backend.session.stop()


def _compile_times(db: tidings.Database) -> list[str]:
    """From text to SQL, stage by stage."""
    definitions = db._catalog.definitions()
    plan = db._bind_text(LOW_STOCK)
    program = compile_program("low_stock", plan, CHANGED, definitions)
    works: dict[str, Callable[[], object]] = {
        "parse and bind, with Spark's analyzer": lambda: db._bind_text(LOW_STOCK),
        "normalise, differentiate, restrict": lambda: compile_program("low_stock", plan, CHANGED, definitions),
        "print SQL": lambda: lower(program.steps[-1].plan, db._backend.dialect, CHANGED),
    }
    title = "compile time of low_stock, once per view and set of changed influents"
    return [title, *(str(measure(name, work)) for name, work in works.items())]


def _waves(db: tidings.Database, backend: Spark, items: int) -> list[str]:
    rng = random.Random(7)
    spark = backend.session
    spark.sql("SELECT 1").collect()

    def commit(rows: int) -> None:
        """New quantities for random items, one transaction each; the wave covers them all."""
        since.append(db.time)
        for item in rng.sample(range(items), rows):
            with db.transaction() as tx:
                tx.insert("quantity", [(item, rng.randrange(300))])

    def wave() -> object:
        return db.changes("low_stock", since=since.pop(), per_commit=True)

    def point() -> object:
        return backend.fetch(f"SELECT * FROM trivial WHERE item = {rng.randrange(items)}", small=True)

    since: list[int] = []
    backend.base("quantity").createOrReplaceTempView("trivial")
    figures = measure_in_turns(
        {
            "one row by key": (nothing, point),
            "sum of one column": (nothing, lambda: backend.fetch("SELECT SUM(qty) FROM trivial")),
            "wave of 10 changes": (lambda: commit(10), wave),
            "wave of 100 changes": (lambda: commit(100), wave),
        }
    )
    recompute = measure("full recompute, counted", lambda: backend.fetch(_recompute(backend)), runs=5, warm=2)
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


def _recompute(backend: Spark) -> str:
    """The view in plain SQL over the cached tables."""
    for table in ("quantity", "consume_freq", "delivery_time", "supplies", "min_stock"):
        backend.base(table).createOrReplaceTempView(f"plain_{table}")
    return """
        SELECT COUNT(*), SUM(threshold) FROM (
          SELECT q.item, q.qty, c.freq * d.days + m.amount AS threshold
          FROM plain_quantity q JOIN plain_consume_freq c ON c.item = q.item
          JOIN plain_delivery_time d ON d.item = c.item
          JOIN plain_supplies s ON s.item = d.item AND s.supplier = d.supplier
          JOIN plain_min_stock m ON m.item = c.item
          WHERE q.qty < c.freq * d.days + m.amount)
    """


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

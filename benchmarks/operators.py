"""Every operator: rows read and time for a delta of 100 rows, over small and large inputs, against a recompute.

Bar: where a key restricts an operator, the rows its passive side reads grow by less than 1.2 times from 100 thousand
to 10 million rows of input.  Keys have ten rows each at every size.

    python -m benchmarks.operators [rows small] [rows large]
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

import tidings
from benchmarks.measure import report
from tidings.engine.run import LIST_LIMIT, Runner
from tidings.engine.spark import Spark
from tidings.engine.sql.literals import among
from tidings.engine.sql.lower import lower
from tidings.ir.expression import SINCE, read, show_name
from tidings.ir.relation import Aggregate, Filter, Item, Relation, Restrict, Scan, Version
from tidings.ir.traverse import children

CHANGES = 100
PER_KEY = 10
DAY = 86_400_000_000
MICROS = 1_767_225_600_000_000

OPERATORS = {
    "filter and projection": "SELECT k, x + 1 AS y FROM big WHERE x > 10",
    "join": "SELECT big.k, big.x, other.y FROM big JOIN other ON big.k = other.k",
    "union all": "SELECT k, x FROM big UNION ALL SELECT k, y FROM other",
    "distinct": "SELECT DISTINCT k, x FROM big",
    "group by": "SELECT k, count(*) AS n, sum(x) AS s, max(x) AS m FROM big GROUP BY k",
    "having": "SELECT k, sum(x) AS s FROM big GROUP BY k HAVING count(*) > 9",
    "left join": "SELECT big.k, big.x, other.y FROM big LEFT JOIN other ON big.k = other.k",
    "full join": "SELECT big.k, big.x, other.y FROM big FULL JOIN other ON big.k = other.k",
    "semi join": "SELECT k, x FROM big WHERE EXISTS (SELECT 1 FROM other WHERE other.k = big.k AND other.y > big.x)",
    "anti join": "SELECT k, x FROM big WHERE NOT EXISTS (SELECT 1 FROM other WHERE other.k = big.k)",
    "except": "SELECT k, x FROM big EXCEPT SELECT k, y FROM other",
    "intersect all": "SELECT k, x FROM big INTERSECT ALL SELECT k, y FROM other",
    "window": "SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM big",
    "top 3 per key": "SELECT k, x FROM big QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC) <= 3",
    "scalar subquery": "SELECT k, x FROM big WHERE x > (SELECT avg(y) FROM other WHERE other.k = big.k)",
    "aggregate over outer join": (
        "SELECT big.k, count(other.y) AS n FROM big LEFT JOIN other ON big.k = other.k GROUP BY big.k"
    ),
    "two levels of aggregation": (
        "SELECT k, max(s) AS m FROM (SELECT k, x, sum(x) AS s FROM big GROUP BY k, x) AS g GROUP BY k"
    ),
    "explode": "SELECT k, e FROM big LATERAL VIEW explode(array(x, x + 1)) t AS e",
    "time": "SELECT k FROM big WHERE at + INTERVAL 3 DAYS < now()",
    "stored group by": "stored",
    "total": "SELECT count(*) AS n, sum(x) AS s FROM big",
    "top 3 of all": "SELECT k, x FROM big ORDER BY x DESC LIMIT 3",
}
WITHOUT_KEY = ("total", "top 3 of all")


@dataclass(slots=True)
class Counting(Runner):
    """A runner that counts the rows of states its steps read, while ``counts`` is a list."""

    counts: list[int] | None = field(default=None)

    def _prepare(self, step, sources, computed, registered, batch, needed):  # type: ignore[no-untyped-def]
        prepared = Runner._prepare(self, step, sources, computed, registered, batch, needed)
        if self.counts is not None:
            deltas = prepared[1]
            listed = frozenset(
                r for r, rows in deltas.items() if isinstance(rows, pa.Table) and len(rows) <= LIST_LIMIT
            )
            for node in _passive(step.plan):
                counted = Aggregate(node, "counted", (), (Item("n", "bigint", read("COUNT(*)")),))
                statement = lower(counted, self.backend.dialect, listed)
                filled = statement.filled(lambda keys, test: _among(keys, test.tested, deltas), *batch)
                self.counts.append(self.backend.fetch(filled).column(0)[0].as_py())
        return prepared


def _among(keys, tested, deltas) -> str:  # type: ignore[no-untyped-def]
    values = [deltas[relation].column(name).combine_chunks() for relation, name in keys.columns]
    return among(tested, pc.unique(pa.chunked_array(values)), keys.type, "spark", halves=True)


def _passive(node: Relation) -> Iterator[Relation]:
    """The reads of states: those cut down to keys or to a range of time with what cuts them, others whole."""
    ranged = isinstance(node, Filter) and isinstance(node.input, Scan)
    if isinstance(node, Restrict) or (ranged and any(SINCE in c.walk() for c in node.conditions)):  # type: ignore[union-attr]
        yield node
        return
    if isinstance(node, Scan) and node.version is not Version.DELTA:
        yield node
        return
    for child in children(node):
        yield from _passive(child)


@dataclass(slots=True)
class Line:
    """What was measured for one operator at one size."""

    rows: int
    wave: float
    recompute: float


def main(small: int = 100_000, large: int = 10_000_000) -> None:
    found = {size: _measured(size) for size in (small, large)}
    lines = [
        f"a delta of {CHANGES} rows; Spark local mode, tables cached and sorted by key, {PER_KEY} rows per key",
        "read: rows of old states that reach the operator; wave: median of three; recompute: one run",
        "",
        f"{'operator':<27}{'read':>9}{'read':>12}{'growth':>9}{'wave':>12}{'wave':>12}{'recompute':>12}{'faster':>9}",
        f"{'':<27}{small:>9,}{large:>12,}{'':>9}{small:>12,}{large:>12,}{large:>12,}",
    ]
    for name in OPERATORS:
        one, other = found[small][name], found[large][name]
        growth = other.rows / one.rows if one.rows else 1.0
        kept = "" if name in WITHOUT_KEY else "  ok" if growth < 1.2 else "  MISSED"
        lines.append(
            f"{name:<27}{one.rows:>9,}{other.rows:>12,}{growth:>8.2f}x{one.wave * 1000:>9.0f} ms"
            f"{other.wave * 1000:>9.0f} ms{other.recompute * 1000:>9.0f} ms{other.recompute / other.wave:>8.1f}x{kept}"
        )
    lines += ["", "without a key, and so without a bar: " + ", ".join(WITHOUT_KEY)]
    report("operators", lines)


def _measured(size: int) -> dict[str, Line]:
    print(f"loading {size:,} rows …", file=sys.stderr)
    clock = tidings.ManualClock(MICROS)
    db = tidings.open(engine="spark", execution="spark", clock=clock, strategy="differential")
    _load(db, size)
    backend = db._parts.backend
    assert isinstance(backend, Spark)
    runner = Counting(backend, db._parts.compiled)
    db._parts.scheduler.engines.runner = runner
    db.sql("CREATE MATERIALIZED VIEW stored AS SELECT k, count(*) AS n, sum(x) AS s FROM big GROUP BY k")
    rng, out = random.Random(3), {}
    for name, query in OPERATORS.items():
        print(f"{name} …", file=sys.stderr)
        waves = [_wave(db, clock, rng, query, size) for _ in range(4)]
        runner.counts = []
        _wave(db, clock, rng, query, size)
        rows, runner.counts = sum(runner.counts), None
        out[name] = Line(rows, statistics.median(waves[1:]), _recompute(db, query))
    db.close()
    return out


def _wave(db: tidings.Database, clock: tidings.ManualClock, rng: random.Random, query: str, size: int) -> float:
    """Commit changes of distinct keys in one transaction, then time how the query's answer changed."""
    if query == "stored":
        db.advance()
    clock.set(max(clock.now(), db.time) + 1)
    since = db._parts.timeline.present(db._parts.plans.plan(query))
    keys = rng.sample(range(size // PER_KEY), CHANGES)
    with db.transaction() as tx:
        tx.insert("big", [(k, rng.randrange(1000), tidings.clock.instant(MICROS + 400 * DAY)) for k in keys])
    clock.set(db.time + 1)
    start = time.perf_counter()
    db.changes(query, since=since, per_commit=True)
    return time.perf_counter() - start


def _recompute(db: tidings.Database, query: str) -> float:
    """The time to compute all rows of a query from scratch, of which only a hash is fetched."""
    text = "SELECT k, count(*) AS n, sum(x) AS s FROM big GROUP BY k" if query == "stored" else query
    columns = ", ".join(show_name(f.name) for f in db._parts.plans.plan(query).fields)
    plan = db._parts.plans.parse(f"SELECT count(*) AS n, max(hash({columns})) AS h FROM ({text}) AS everything")
    start = time.perf_counter()
    db._parts.answers.at(plan, db._parts.timeline.present(plan))
    return time.perf_counter() - start


def _load(db: tidings.Database, size: int) -> None:
    """A table of the given size, and one with a row per key; instants are spread so that few fall into any second."""
    db.sql("CREATE TABLE big (k BIGINT, x INT, at TIMESTAMP); CREATE TABLE other (k BIGINT, y INT)")
    number = pa.array(range(size), pa.int64())
    key = pc.divide(number, pa.scalar(PER_KEY, pa.int64()))
    value = pc.bit_wise_and(pc.multiply(number, pa.scalar(7919, pa.int64())), pa.scalar(1023, pa.int64()))
    step = 300 * DAY // size
    at = pc.add(pc.multiply(number, pa.scalar(step, pa.int64())), pa.scalar(MICROS, pa.int64()))
    moments = at.cast(pa.timestamp("us", tz="UTC"))
    db.load("big", pa.table({"k": key, "x": value.cast(pa.int32()), "at": moments}), sorted_by="k")
    keys = pa.array(range(size // PER_KEY), pa.int64())
    other = pa.table({"k": keys, "y": value.slice(0, len(keys)).cast(pa.int32())})
    db.load("other", other, sorted_by="k")


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

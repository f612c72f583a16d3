"""The store: commits per second, load, reopening, space and memory.

Bars: at least 150 transactions of one inserted row per second into a table without a key, at least 40 of one updated
row by key, each less than 1.5 times slower over 5 million rows than over 10 thousand; at least 40 of a hundred random
rows by key, less than 3 times slower.  At most 1.3 times the space of the same rows as plain Parquet.  Loading takes at
most twice as long as Spark takes to sort the same rows by their key and to write them.

    python -m benchmarks.store [rows small] [rows large] [rows loaded]
"""

from __future__ import annotations

import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tidings
from benchmarks.measure import report, timed
from tidings.engine.spark import Spark

ROUNDS = 2
"""How often rows are loaded; the lowest time counts, since the first round finds a cold JVM."""

SECONDS = 3.0
"""How long each kind of transaction is repeated."""


def main(small: int = 10_000, large: int = 5_000_000, loaded: int = 10_000_000) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tidings-store-"))
    try:
        report("store", [*_commits(folder, small, large), "", *_load(folder, loaded)])
    finally:
        shutil.rmtree(folder)


def _commits(folder: Path, small: int, large: int) -> list[str]:
    rates = {size: _rates(folder / f"commits-{size}", size) for size in (small, large)}
    lines = [
        "transactions per second, each durable before it is acknowledged",
        f"{'':<34}{small:>12,}{large:>12,}{'slower':>9}",
    ]
    bars = {
        "insert 1 row, no key": (150, 1.5),
        "update 1 row by key": (40, 1.5),
        "update 100 rows by key": (40, 3.0),
    }
    for name in rates[small]:
        one, other = rates[small][name], rates[large][name]
        least, most = bars.get(name, (None, None))
        bar = f"   bar: at least {least}, less than {most}x" if least is not None else ""
        lines.append(f"{name:<34}{one:>12,.0f}{other:>12,.0f}{one / other:>8.2f}x{bar}")
    return lines


def _rates(folder: Path, size: int) -> dict[str, float]:
    print(f"commits over {size:,} rows …", file=sys.stderr)
    rng = random.Random(5)
    with tidings.open(folder, engine="duckdb") as db:
        db.sql("CREATE TABLE plain (k BIGINT, x INT); CREATE TABLE keyed (k BIGINT PRIMARY KEY, x INT)")
        rows = _rows(size)
        for table in ("plain", "keyed"):
            db.load(table, rows, sorted_by="k")
        fresh = iter(range(size, 1 << 40))

        def insert(table: str, count: int) -> None:
            with db.transaction() as tx:
                tx.insert(table, [(next(fresh), 1) for _ in range(count)])

        def update(count: int) -> None:
            with db.transaction() as tx:
                keys = rng.sample(range(size), count)
                tx.update("keyed", [{"k": k, "x": rng.randrange(1000)} for k in keys])

        def update_singly(count: int) -> None:
            with db.transaction() as tx:
                for k in rng.sample(range(size), count):
                    tx.update("keyed", [{"k": k, "x": rng.randrange(1000)}])

        def listed(count: int) -> str:
            return ", ".join(map(str, rng.sample(range(size), count)))

        def merge(count: int) -> None:
            rows = ", ".join(f"({k}, 1)" for k in rng.sample(range(size), count))
            db.sql(
                f"MERGE INTO keyed AS t USING (VALUES {rows}) AS s (k, x) ON t.k = s.k "
                "WHEN MATCHED THEN UPDATE SET x = t.x + s.x WHEN NOT MATCHED THEN INSERT *"
            )

        return {
            "insert 1 row, no key": _rate(lambda: insert("plain", 1)),
            "insert 100 rows, no key": _rate(lambda: insert("plain", 100)),
            "insert 1 row, primary key": _rate(lambda: insert("keyed", 1)),
            "insert 100 rows, primary key": _rate(lambda: insert("keyed", 100)),
            "update 1 row by key": _rate(lambda: update(1)),
            "update 100 rows by key": _rate(lambda: update(100)),
            "update 100 rows, one by one": _rate(lambda: update_singly(100)),
            "UPDATE … WHERE k = … in SQL": _rate(
                lambda: db.sql(f"UPDATE keyed SET x = x + 1 WHERE k = {rng.randrange(size)}")
            ),
            "UPDATE … WHERE k IN (100 keys)": _rate(
                lambda: db.sql(f"UPDATE keyed SET x = x + 1 WHERE k IN ({listed(100)})")
            ),
            "MERGE of 100 rows by key": _rate(lambda: merge(100)),
        }


def _rate(work: Callable[[], object]) -> float:
    work()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        work()
        done += 1
    return done / (time.perf_counter() - start)


def _load(folder: Path, size: int) -> list[str]:
    print(f"loading {size:,} rows on Spark …", file=sys.stderr)
    rows = _rows(size)
    plain = folder / "plain.parquet"
    pq.write_table(rows, plain, compression="zstd")
    home = folder / "loaded-0"
    loading, sorting = [], []
    for n in range(ROUNDS):
        with tidings.open(folder / f"loaded-{n}", engine="spark") as db:
            db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, x INT)")
            backend = db._parts.backend
            assert isinstance(backend, Spark)
            given = backend.session.read.parquet(str(plain))
            sorting.append(timed(partial(given.sort("k").write.parquet, str(folder / f"sorted-{n}"))))
            loading.append(timed(partial(db.load, "t", given)))
    start = time.perf_counter()
    with tidings.open(home, engine="spark") as db:
        opening = time.perf_counter() - start
        start = time.perf_counter()
        db.query("SELECT count(*) AS n FROM t")
        first = time.perf_counter() - start
    space = sum(p.stat().st_size for p in home.rglob("*") if p.is_file()) / plain.stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        f"{size:,} rows in Spark local mode",
        f"load                              {min(loading):8.1f} s   {size / min(loading):,.0f} rows per second",
        f"load against sort and write       {min(loading) / min(sorting):8.2f} x   bar: at most 2",
        f"reopen                            {opening:8.2f} s   first query {first:.2f} s",
        f"space against plain Parquet       {space:8.2f} x   bar: at most 1.3",
        f"peak memory of this process       {memory:8.1f} GiB, beside the JVM",
    ]


def _rows(size: int) -> pa.Table:
    number = pa.array(range(size), pa.int64())
    return pa.table({"k": number, "x": pa.array([n % 1000 for n in range(size)], pa.int32())})


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

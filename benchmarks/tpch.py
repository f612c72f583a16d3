"""TPC-H: the 22 queries as stored views, refreshed after changes of 0.01% to 10% of the rows, against a recompute.

Every query is stored twice, and each change is brought into one copy by a differential (merging kept groupings where
that can be done) and into the other by recomputing and comparing.  In turns with them the query itself is run in Spark
SQL over the cached tables: that is the recompute everything is held against.  It is run in DuckDB too, over plain
tables with the same rows.  The strategy that Tidings would choose is asked for before, so its time is the one of that
copy.  Waves run with ``execution = "auto"``; two rounds more are run on Spark alone, of which the second counts.  Above
scale 1 there is only the first copy, refreshed as Tidings chooses.

    python -m benchmarks.tpch [scale] [shares …]     without a scale, both
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from functools import partial

import tidings
from benchmarks import spent
from benchmarks.data.orders import TABLES, Orders
from benchmarks.measure import peaks, progress, timed
from benchmarks.peers.duckdb import PlainTpch, plain_tpch
from benchmarks.setting import PlainSpark, database, executing, forced, limited, never_fold, stop_spark
from benchmarks.tpch_report import BARRED, IN_TOTAL, Found, Seen, report
from tests.tpc.benchmark import Query, connect, queries
from tidings.errors import TidingsError
from tidings.front.choices import Engine
from tidings.waves.strategy import Strategy

ROUNDS = {0.0001: 2, 0.001: 3, 0.01: 1, 0.1: 1}
"""Changes by share of the rows, and how often each is made."""
SECONDS = 300.0
"""What takes longer than this is stopped, and the view left out."""


def main(scale: float | None = None, *shares: float) -> None:
    if scale is None:
        for one in IN_TOTAL:  # each in a process of its own, which begins with all the memory there is
            subprocess.run([sys.executable, "-m", "benchmarks.tpch", f"{one:g}"], check=True)
        return
    usual = ROUNDS if scale <= 1 else {BARRED: 1}
    found = measured(scale, {share: ROUNDS.get(share, 1) for share in shares} or usual)
    report(found).publish()
    stop_spark()


def measured(
    scale: float, rounds: dict[float, int], *, engine: Engine = "spark", only: tuple[int, ...] = (), warm: bool = True
) -> Found:
    """Fill, change and refresh at one scale."""
    progress(f"tpch: generating scale {scale:g} …")
    asked = [q for q in queries(connect("tpch", 0), "tpch") if not only or q.number in only]
    found, copies = Found(scale), ("d", "r") if scale <= 1 else ("d",)
    with plain_tpch(scale) as plain, database(engine, execution="auto", clock=tidings.ManualClock(1)) as db:
        orders = Orders(plain)
        progress("tpch: loading …")
        orders.load(db)
        never_fold(db)
        found.filling = timed(lambda: found.refused.update(_store(db, asked, copies)))
        stored = [q for q in asked if q.number not in found.refused]
        spark = PlainSpark(db, TABLES) if engine == "spark" else None
        if warm:
            progress("tpch: a first round that does not count …")
            orders.change(db, min(rounds))
            _round(db, stored, {q.number: Seen() for q in stored}, plain, spark, copies)
        for share, count in rounds.items():
            seen = found.seen[share] = {q.number: Seen() for q in stored}
            for n in range(count):
                progress(f"tpch: {share:.2%} of the rows change, {n + 1} of {count} …")
                found.changes[share] = orders.change(db, share)
                _round(db, stored, seen, plain, spark, copies)
            if share == BARRED and spark is not None:
                uncounted = [{q.number: Seen() for q in stored}] if warm else []
                for shown in (*uncounted, seen):
                    progress(f"tpch: {share:.2%} of the rows change, and all is Spark's …")
                    orders.change(db, share)
                    with executing(db, "spark"):
                        _round_on_spark(db, stored, shown, spark)
                _bring_up(db, stored, copies)
        found.process, _ = peaks()
    return found


def _store(db: tidings.Database, asked: list[Query], copies: tuple[str, ...]) -> dict[int, str]:
    """Store every query once or twice; those that are refused, and why."""
    refused = {}
    for query in asked:
        progress(f"tpch: filling Q{query.number} …")
        try:
            for copy in copies:
                options = "WITH (refresh = 'manual')"
                db.sql(f"CREATE MATERIALIZED VIEW q{query.number}{copy} {options} AS {query.text}")
        except TidingsError as error:
            refused[query.number] = str(error).splitlines()[0]
    return refused


def _round(
    db: tidings.Database,
    asked: list[Query],
    seen: dict[int, Seen],
    plain: PlainTpch,
    spark: PlainSpark | None,
    copies: tuple[str, ...],
) -> None:
    """Bring all copies of every view up to date, in turns with a recompute in both engines."""
    limit = limited(db, SECONDS)
    for query in asked:
        name, view = f"q{query.number}", seen[query.number]
        if view.failure:
            continue
        try:
            view.chosen, view.rows = choice(db, f"{name}d")
            with forced(db, Strategy.DIFFERENTIAL if "r" in copies else None):
                view.differential.append(limit.timed(partial(db.refresh, f"{name}d")))
            view.record = spent.last(db)
            if "r" in copies:
                with forced(db, Strategy.RECOMPUTE):
                    view.recompute.append(limit.timed(partial(db.refresh, f"{name}r")))
            view.in_duckdb.append(plain.seconds(query.oracle))
            view.plain.append(limit.timed(partial(spark.fetch, query.text)) if spark else view.in_duckdb[-1])
        except TidingsError as error:
            view.failure = str(error).splitlines()[0]
        if math.inf in (view.differential[-1:] + view.recompute[-1:] + view.plain[-1:]):
            view.failure = f"stopped after {SECONDS:.0f} s"
        measured = (view.differential, view.recompute, view.plain, view.in_duckdb)
        took = " ".join(f"{t[-1]:.2f}" for t in measured if t)
        progress(f"tpch:   Q{query.number}: {view.chosen.value}; {took} s {view.failure}")


def _round_on_spark(db: tidings.Database, asked: list[Query], seen: dict[int, Seen], spark: PlainSpark) -> None:
    """Bring the first copy of every view up to date as Tidings chooses, with all waves on Spark."""
    limit = limited(db, SECONDS)
    for query in asked:
        view = seen[query.number]
        if not view.failure:
            view.on_spark = limit.timed(partial(db.refresh, f"q{query.number}d"))
            view.plain.append(limit.timed(partial(spark.fetch, query.text)))
            progress(f"tpch:   Q{query.number} on Spark: {view.on_spark:.2f} s")


def _bring_up(db: tidings.Database, asked: list[Query], copies: tuple[str, ...]) -> None:
    """Bring all copies up to date."""
    for query in asked:
        for copy in copies:
            db.refresh(f"q{query.number}{copy}")


def choice(db: tidings.Database, view: str) -> tuple[Strategy, int]:
    """The strategy that would be taken for what a stored view lags behind, and about how many rows it reads."""
    lines = db.explain(view, since=db.status().view(view).position).splitlines()
    name, _, reason = lines[lines.index("Strategy") + 1].strip().partition(": ")
    rows = re.search(r", ([\d,]+) rows", reason)
    return Strategy(name), int(rows[1].replace(",", "")) if rows else 0


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))

"""States of tables on Spark: the 22 queries of TPC-H over tables with a log, against the same over tables without.

A state is the base of a table without the rows that went and with those that came.  After a share of the rows has
changed, each query is run in turns by ``db.query``, over the states, and in Spark SQL over the cached bases alone.  So
the ratio is what the log costs, and what Tidings makes of the query.

    python -m benchmarks.states [scale] [shares …]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial

import tidings
from benchmarks.data.orders import TABLES, Orders
from benchmarks.measure import Figure, measure_in_turns, nothing, progress
from benchmarks.peers.duckdb import PlainTpch
from benchmarks.report import Bar, Report, Table, finished, ms, times
from benchmarks.setting import PlainSpark, database, never_fold, stop_spark
from tests.tpc.benchmark import queries

SHARES = (0.001, 0.1)
LIMIT = 1.5
"""A query over states is to take at most so many times what it takes over the bases."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The times of one query over the states and over the bases."""

    states: Figure
    bases: Figure

    @property
    def ratio(self) -> float:
        """By the lowest times: what is above them is other work of the machine."""
        return self.states.low / self.bases.low


@dataclass(slots=True)
class Found:
    """What was measured, by share of changed rows and number of the query."""

    scale: float
    pairs: dict[float, dict[int, Pair]] = field(default_factory=dict)


def main(scale: float = 1.0, *shares: float) -> None:
    report(measured(scale, shares or SHARES)).publish()
    stop_spark()


def measured(scale: float, shares: tuple[float, ...] = SHARES, *, only: tuple[int, ...] = (), runs: int = 3) -> Found:
    """Change more and more rows, and ask all queries in between."""
    progress(f"states: generating scale {scale:g} …")
    plain = PlainTpch(scale)
    orders, found = Orders(plain), Found(scale)
    asked = [q for q in queries(plain.connection, "tpch") if not only or q.number in only]
    with database(clock=tidings.ManualClock(1)) as db:
        progress("states: loading …")
        orders.load(db)
        never_fold(db)
        spark = PlainSpark(db, TABLES)
        for share in shares:
            progress(f"states: {share:.2%} of the rows change …")
            orders.change(db, share)
            pairs = found.pairs[share] = {}
            for query in asked:
                works = {
                    "states": (nothing, partial(db.query, query.text)),
                    "bases": (nothing, partial(spark.fetch, query.text)),
                }
                figures = measure_in_turns(works, runs=runs, warm=1)
                pairs[query.number] = Pair(figures["states"], figures["bases"])
                progress(f"states:   Q{query.number}: {pairs[query.number].ratio:.2f}x")
    return found


def report(found: Found) -> Report:
    tables, bars = [], []
    for share, pairs in found.pairs.items():
        states, bases = (sum(getattr(p, side).low for p in pairs.values()) for side in ("states", "bases"))
        rows = [(f"Q{n}", ms(p.states.low), ms(p.bases.low), times(p.ratio)) for n, p in pairs.items()]
        rows.append(("all", ms(states), ms(bases), times(states / bases)))
        header = ("query", "over states", "over bases", "times")
        tables.append(Table(f"{share:.2%} of the rows changed", header, tuple(rows)))
        slowest = max(pairs, key=lambda n: pairs[n].ratio)
        where = f"scale {found.scale:g}, log of {share:.1%}"
        bars.append(Bar(f"{where}, the slowest query (Q{slowest}), state / base", pairs[slowest].ratio, LIMIT, True))
        bars.append(Bar(f"{where}, all queries, state / base", states / bases, LIMIT, True))
    about = (
        f"TPC-H at scale {found.scale:g}: the 22 queries by db.query over tables with a log, and in Spark SQL over the"
        " same cached bases without it.  The lowest of three runs each."
    )
    return finished("states", about, tables, bars)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))

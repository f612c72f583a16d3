"""TPC-H: the 22 queries as stored views, refreshed after changes of 0.01% to 10% of the rows, against a recompute.

Every query is stored twice, and each change is brought into one copy by a differential (merging kept groupings where
that can be done) and into the other by recomputing and comparing.  In turns with them the query itself is run in Spark
SQL over the cached tables: that is the recompute everything is held against.  The strategy that Tidings would choose is
asked for before, so its time is the one of that copy.  Waves run with ``execution = "auto"``; one round more is run on
Spark alone.  Above scale 1 there is only the first copy, refreshed as Tidings chooses, and no round on Spark alone.

    python -m benchmarks.tpch [scale] [shares …]     without a scale, both
"""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import tidings
from benchmarks import spent
from benchmarks.data.orders import TABLES, Orders
from benchmarks.measure import progress, timed
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from benchmarks.setting import PlainSpark, database, executing, forced, limited, never_fold, stop_spark
from tests.tpc.benchmark import Query, connect, queries
from tidings.errors import TidingsError
from tidings.front.choices import Engine
from tidings.waves.record import WaveRecord
from tidings.waves.strategy import Strategy

ROUNDS = {0.0001: 2, 0.001: 3, 0.01: 1, 0.1: 1}
"""Changes by share of the rows, and how often each is made."""
SECONDS = 300.0
"""What takes longer than this is stopped, and the view left out."""
BARRED = 0.001
"""The share for which bars are set."""
IN_TOTAL = {1.0: 3.0, 5.0: 8.0}
"""The scales, and how many times faster than recompute all views together are to be at each."""


@dataclass(slots=True)
class Seen:
    """What was measured of one view for one share."""

    chosen: Strategy = Strategy.NOTHING
    rows: int = 0
    """Rows of states that the chosen way reads, by estimate."""
    differential: list[float] = field(default_factory=list)
    recompute: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    on_spark: float = math.inf
    """As Tidings chooses where all waves run on Spark."""
    failure: str = ""
    record: WaveRecord | None = None
    """What the last differential did."""

    @property
    def taken(self) -> float:
        """The time of the strategy that was chosen."""
        found = self.recompute if self.chosen is Strategy.RECOMPUTE and self.recompute else self.differential
        return statistics.median(found) if found else math.inf

    @property
    def other(self) -> float:
        """The time of the strategy that was not chosen."""
        found = self.differential if self.chosen is Strategy.RECOMPUTE else self.recompute
        return statistics.median(found) if found else math.inf

    @property
    def right(self) -> bool:
        """Whether the faster strategy was chosen; doing nothing is always right."""
        return self.chosen is Strategy.NOTHING or self.taken <= self.other

    @property
    def whole(self) -> float:
        """The time of the query itself."""
        return statistics.median(self.plain) if self.plain else math.inf


@dataclass(slots=True)
class Found:
    """What was measured at one scale: by share, and then by number of the query."""

    scale: float
    filling: float = 0.0
    changes: dict[float, int] = field(default_factory=dict)
    seen: dict[float, dict[int, Seen]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)

    @property
    def is_twofold(self) -> bool:
        """Whether both strategies were measured."""
        return any(v.recompute for by in self.seen.values() for v in by.values())

    def total(self, share: float) -> tuple[float, float]:
        """All views as Tidings refreshes them, and all queries from scratch."""
        views = [s for s in self.seen[share].values() if not s.failure]
        return sum(s.taken for s in views), sum(s.whole for s in views)

    def on_spark(self, share: float) -> float:
        """All views where all waves run on Spark."""
        return sum(s.on_spark for s in self.seen[share].values() if not s.failure)

    def right(self, share: float) -> int:
        """For how many views the chosen strategy was the faster one."""
        return sum(s.right for s in self.seen[share].values() if not s.failure)

    def break_even(self, number: int) -> float | None:
        """The share of changes at which a refresh takes as long as a recompute, read off between two measured ones."""
        points = [(share, by[number]) for share, by in sorted(self.seen.items()) if number in by]
        known = [(share, s.taken / s.whole) for share, s in points if not s.failure]
        if not known or known[0][1] >= 1:
            return None if not known else 0.0
        for (low, under), (high, over) in pairwise(known):
            if over >= 1:
                part = -math.log(under) / (math.log(over) - math.log(under))
                return float(math.exp(math.log(low) + part * (math.log(high) - math.log(low))))
        return math.inf


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
    plain = connect("tpch", scale)
    plain.execute("SET threads = 2")
    asked = [q for q in queries(plain, "tpch") if not only or q.number in only]
    found, orders = Found(scale), Orders(plain)
    copies = ("d", "r") if scale <= 1 else ("d",)
    with database(engine, execution="auto", clock=tidings.ManualClock(1)) as db:
        progress("tpch: loading …")
        orders.load(db)
        never_fold(db)
        found.filling = timed(lambda: found.refused.update(_store(db, asked, copies)))
        stored = [q for q in asked if q.number not in found.refused]
        spark = PlainSpark(db, TABLES) if engine == "spark" else None

        def recompute(query: Query) -> Callable[[], object]:
            return lambda: spark.fetch(query.text) if spark else plain.execute(query.oracle).to_arrow_table()

        if warm:
            progress("tpch: a first round that does not count …")
            orders.change(db, min(rounds))
            _round(db, stored, {q.number: Seen() for q in stored}, recompute, copies)
        for share, count in rounds.items():
            seen = found.seen[share] = {q.number: Seen() for q in stored}
            for n in range(count):
                progress(f"tpch: {share:.2%} of the rows change, {n + 1} of {count} …")
                found.changes[share] = orders.change(db, share)
                _round(db, stored, seen, recompute, copies)
            if share == BARRED and engine == "spark" and scale <= 1:
                progress(f"tpch: {share:.2%} of the rows change, and all is Spark's …")
                orders.change(db, share)
                with executing(db, "spark"):
                    _round_on_spark(db, stored, seen)
                _bring_up(db, stored, copies)
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
    recompute: Callable[[Query], Callable[[], object]],
    copies: tuple[str, ...],
) -> None:
    """Bring all copies of every view up to date, in turns with a recompute."""
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
            view.plain.append(limit.timed(recompute(query)))
        except TidingsError as error:
            view.failure = str(error).splitlines()[0]
        if math.inf in (view.differential[-1:] + view.recompute[-1:] + view.plain[-1:]):
            view.failure = f"stopped after {SECONDS:.0f} s"
        took = " ".join(f"{t[-1]:.2f}" for t in (view.differential, view.recompute, view.plain) if t)
        progress(f"tpch:   Q{query.number}: {view.chosen.value}; {took} s {view.failure}")


def _round_on_spark(db: tidings.Database, asked: list[Query], seen: dict[int, Seen]) -> None:
    """Bring the first copy of every view up to date as Tidings chooses, with all waves on Spark."""
    limit = limited(db, SECONDS)
    for query in asked:
        view = seen[query.number]
        if not view.failure:
            view.on_spark = limit.timed(partial(db.refresh, f"q{query.number}d"))
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


def report(found: Found) -> Report:
    shares = list(found.seen)
    header = ("share", "rows changed", "views", "recompute", "faster", "chosen was the faster", "views on Spark alone")
    totals = []
    for share in shares:
        taken, whole = found.total(share)
        right = f"{found.right(share)} of {len(found.seen[share])}" if found.is_twofold else ""
        alone = ms(found.on_spark(share)) if found.on_spark(share) < math.inf else ""
        cells = (f"{share:.2%}", f"{found.changes[share]:,}", ms(taken), ms(whole), times(whole / taken), right, alone)
        totals.append(cells)
    tables = [Table("all views together", header, tuple(totals))]
    tables += [_views(found, share) for share in shares]
    for share in shares:
        if share == BARRED:
            records = {f"Q{n}": [v.record] for n, v in found.seen[share].items() if v.record is not None}
            tables.append(spent.table(f"what differentials were occupied with, {share:.2%}", records))
    numbers = sorted({n for by in found.seen.values() for n in by})
    even = tuple((f"Q{n}", _shown(found.break_even(n))) for n in numbers)
    tables.append(Table("break-even: share of changes at which a refresh costs a recompute", ("view", "share"), even))
    copies = "both copies of all views" if found.is_twofold else "all views"
    notes = [f"filling {copies} took {found.filling:.0f} s"]
    notes += [f"Q{n} refused: {why}" for n, why in found.refused.items()]
    notes += [f"Q{n} at {s:.2%}: {v.failure}" for s in shares for n, v in found.seen[s].items() if v.failure]
    about = (
        f"TPC-H at scale {found.scale:g}: 22 stored views; orders and items come and go, customers and parts change.\n"
        "recompute: the query in Spark SQL over the cached tables, all rows fetched.\n"
        "other: the strategy that was not chosen; rows: of old and new states, by estimate."
    )
    name = "tpch" if found.scale == 1 else f"tpch-{found.scale:g}"
    return finished(name, about, tables, bars(found), plots(found, name), notes)


def _views(found: Found, share: float) -> Table:
    header = ("view", "strategy", "rows", "refresh", "other", "recompute", "faster", "choice", "on Spark alone")
    rows = []
    for number, view in found.seen[share].items():
        if view.failure:
            rows.append((f"Q{number}", "failed", *[""] * 7))
            continue
        right = ("right" if view.right else "wrong") if view.recompute else ""
        alone = ms(view.on_spark) if view.on_spark < math.inf else ""
        other = ms(view.other) if view.recompute else ""
        cells = (f"{view.rows:,}", ms(view.taken), other, ms(view.whole), times(view.whole / view.taken))
        rows.append((f"Q{number}", view.chosen.value, *cells, right, alone))
    return Table(f"{share:.2%} of the rows changed", header, tuple(rows))


def _shown(share: float | None) -> str:
    match share:
        case None:
            return ""
        case 0.0:
            return "below all measured"
        case math.inf:
            return "above all measured"
        case _:
            return f"{share:.2%}"


def bars(found: Found) -> list[Bar]:
    if BARRED not in found.seen:
        return []
    taken, whole = found.total(BARRED)
    views = {n: v for n, v in found.seen[BARRED].items() if not v.failure}
    slowest = max(views, key=lambda n: views[n].taken / views[n].whole)
    worst = views[slowest].taken / views[slowest].whole
    where = f"scale {found.scale:g}, {BARRED:.1%} changes"
    out = [
        Bar(f"{where}, all views, recompute / refresh", whole / taken, IN_TOTAL.get(found.scale, 3.0), False),
        Bar(f"{where}, the slowest view (Q{slowest}), refresh / recompute", worst, 1.2, True),
    ]
    if found.is_twofold:
        right = found.right(BARRED)
        out.append(Bar(f"{where}, views for which the chosen strategy was the faster", right, 20, False))
    return out


def plots(found: Found, name: str) -> list[Plot]:
    lines: dict[str, list[tuple[float, float]]] = {"refresh": [], "recompute": []}
    for share in sorted(found.seen):
        taken, whole = found.total(share)
        lines["refresh"].append((share * 100, taken))
        lines["recompute"].append((share * 100, whole))
    title = f"TPC-H at scale {found.scale:g}: all 22 views"
    return [Plot(name, title, "rows changed, in percent", "seconds in total", lines)]


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))

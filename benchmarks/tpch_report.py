"""What the benchmark of TPC-H measured, and the report of it: tables, bars and plots."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from itertools import pairwise

from benchmarks import spent
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from tidings.waves.record import WaveRecord
from tidings.waves.strategy import Strategy

BARRED = 0.001
"""The share for which bars are set."""
LARGEST = 0.1
"""The share for which a refresh is to be no slower than a recompute."""
IN_TOTAL = {1.0: 3.0, 5.0: 20.0}
"""The scales, and how many times faster than recompute all views together are to be at each."""
IN_TOTAL_ON_SPARK = {1.0: 1.5, 5.0: 4.0}
"""The same where all waves run on Spark."""
SLOWEST_ON_SPARK = {1.0: 1.3, 5.0: 1.2}
"""What the slowest view may take of its recompute there."""
PROCESS = {5.0: 6.0}
"""The memory that the process may take, in GiB."""


@dataclass(slots=True)
class Seen:
    """What was measured of one view for one share."""

    chosen: Strategy = Strategy.NOTHING
    rows: int = 0
    """Rows of states that the chosen way reads, by estimate."""
    differential: list[float] = field(default_factory=list)
    recompute: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    in_duckdb: list[float] = field(default_factory=list)
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
    process: float = 0.0
    """The peak memory of the process, in GiB."""
    changes: dict[float, int] = field(default_factory=dict)
    seen: dict[float, dict[int, Seen]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)

    @property
    def is_twofold(self) -> bool:
        """Whether both strategies were measured."""
        return any(v.recompute for by in self.seen.values() for v in by.values())

    def views(self, share: float) -> dict[int, Seen]:
        """The views that could be measured."""
        return {number: view for number, view in self.seen[share].items() if not view.failure}

    def total(self, share: float) -> tuple[float, float]:
        """All views as Tidings refreshes them, and all queries from scratch."""
        views = self.views(share).values()
        return sum(s.taken for s in views), sum(s.whole for s in views)

    def on_spark(self, share: float) -> float:
        """All views where all waves run on Spark."""
        return sum(s.on_spark for s in self.views(share).values())

    def in_duckdb(self, share: float) -> float:
        """All queries from scratch in DuckDB."""
        return sum(statistics.median(s.in_duckdb) for s in self.views(share).values())

    def right(self, share: float) -> int:
        """For how many views the chosen strategy was the faster one."""
        return sum(s.right for s in self.views(share).values())

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


def report(found: Found) -> Report:
    shares = list(found.seen)
    header = (
        "share",
        "rows changed",
        "views",
        "recompute",
        "faster",
        "chosen was the faster",
        "views on Spark alone",
        "recompute in DuckDB",
    )
    totals = []
    for share in shares:
        taken, whole = found.total(share)
        right = f"{found.right(share)} of {len(found.seen[share])}" if found.is_twofold else ""
        alone = ms(found.on_spark(share)) if found.on_spark(share) < math.inf else ""
        cells = (f"{share:.2%}", f"{found.changes[share]:,}", ms(taken), ms(whole), times(whole / taken), right, alone)
        totals.append((*cells, ms(found.in_duckdb(share))))
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
        "recompute: the query in Spark SQL over the cached tables, all rows fetched; in DuckDB over plain tables.\n"
        "other: the strategy that was not chosen; rows: of old and new states, by estimate."
    )
    name = "tpch" if found.scale == 1 else f"tpch-{found.scale:g}"
    return finished(name, about, tables, bars(found), plots(found, name), notes)


def _views(found: Found, share: float) -> Table:
    header = (
        "view",
        "strategy",
        "rows",
        "refresh",
        "other",
        "recompute",
        "faster",
        "choice",
        "on Spark alone",
        "recompute in DuckDB",
    )
    rows = []
    for number, view in found.seen[share].items():
        if view.failure:
            rows.append((f"Q{number}", "failed", *[""] * 8))
            continue
        right = ("right" if view.right else "wrong") if view.recompute else ""
        alone = ms(view.on_spark) if view.on_spark < math.inf else ""
        other = ms(view.other) if view.recompute else ""
        cells = (f"{view.rows:,}", ms(view.taken), other, ms(view.whole), times(view.whole / view.taken))
        rows.append((f"Q{number}", view.chosen.value, *cells, right, alone, ms(statistics.median(view.in_duckdb))))
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
    out: list[Bar] = []
    if BARRED in found.seen:
        where = f"scale {found.scale:g}, {BARRED:.1%} changes"
        views = found.views(BARRED)
        taken, whole = found.total(BARRED)
        out.append(
            Bar(f"{where}, all views, recompute / refresh", whole / taken, IN_TOTAL.get(found.scale, 3.0), False)
        )
        out.append(_slowest(where, views, {n: v.taken for n, v in views.items()}, 1.2))
        if found.is_twofold:
            right = found.right(BARRED)
            out.append(Bar(f"{where}, views for which the chosen strategy was the faster", right, 20, False))
            quicker = found.in_duckdb(BARRED) / taken
            out.append(Bar(f"{where}, all views, recompute in DuckDB / refresh", quicker, 1.0, False))
        if any(v.on_spark < math.inf for v in views.values()):
            where, limit = f"{where}, Spark alone", IN_TOTAL_ON_SPARK.get(found.scale, 1.5)
            out.append(Bar(f"{where}, all views, recompute / refresh", whole / found.on_spark(BARRED), limit, False))
            alone = {n: v.on_spark for n, v in views.items()}
            out.append(_slowest(where, views, alone, SLOWEST_ON_SPARK.get(found.scale, 1.3)))
    if LARGEST in found.seen:
        taken, whole = found.total(LARGEST)
        where = f"scale {found.scale:g}, {LARGEST:.0%} changes"
        out.append(Bar(f"{where}, all views, recompute / refresh", whole / taken, 1.0, False))
    if found.scale in PROCESS:
        out.append(
            Bar(f"scale {found.scale:g}, peak memory of the process in GiB", found.process, PROCESS[found.scale], True)
        )
    return out


def _slowest(where: str, views: dict[int, Seen], taken: dict[int, float], limit: float) -> Bar:
    """The view whose refresh comes closest to its recompute, or takes longest beyond it."""
    slowest = max(views, key=lambda n: taken[n] / views[n].whole)
    ratio = taken[slowest] / views[slowest].whole
    return Bar(f"{where}, the slowest view (Q{slowest}), refresh / recompute", ratio, limit, True)


def plots(found: Found, name: str) -> list[Plot]:
    lines: dict[str, list[tuple[float, float]]] = {"refresh": [], "recompute": [], "recompute in DuckDB": []}
    for share in sorted(found.seen):
        taken, whole = found.total(share)
        lines["refresh"].append((share * 100, taken))
        lines["recompute"].append((share * 100, whole))
        lines["recompute in DuckDB"].append((share * 100, found.in_duckdb(share)))
    title = f"TPC-H at scale {found.scale:g}: all 22 views"
    return [Plot(name, title, "rows changed, in percent", "seconds in total", lines)]

"""The queries of the Tapestry paper over news messages: Q against Q'(100%), Q'(10%) and Q'(1%), its Figures 5 to 9.

Q is the query as it stands, in Spark SQL over the same cached messages; all rows are fetched.  Q'(n%) is what Tidings
tells of the last n% of the messages: each change at its own instant, as a continuous query has it.  Waves run with
``execution = "auto"``; Q'(1%) is measured on Spark alone as well.  The messages come in stages, and are folded into the
base between them:

    before            the base of the first stage
    the last 10%      Q'(10%), and shorter intervals for Figure 7
    the last 1%       Q'(1%), in turns with Q
    a fixed number    Figure 8: the same interval, whatever the size of the database

Q'(100%) covers everything, and is asked only of the smallest size: the paper's own.

:mod:`benchmarks.continuous` has the same queries as continuous queries.

    python -m benchmarks.tapestry [messages …]
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import tidings
from benchmarks import spent
from benchmarks.data.messages import BEGIN, QUERIES, SCHEMA, Messages, messages
from benchmarks.measure import Figure, measure_in_turns, nothing, progress
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from benchmarks.setting import Plain, PlainDuckDB, PlainSpark, database, executing, limited, stop_spark
from tidings.clock import instant
from tidings.front.choices import Engine
from tidings.waves.record import WaveRecord

SIZES = (380_000, 4_000_000, 20_000_000)
FIXED = 38_000
SHARES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
"""Intervals of Figure 7, as parts of the database; the whole comes from Q'(100%)."""
WHOLE, TENTH, HUNDREDTH, ON_SPARK = "Q'(100%)", "Q'(10%)", "Q'(1%)", "Q'(1%) on Spark"
LARGE = 1_000_000
"""From this size on Spark gets more memory, and fewer runs are made: one for each length of the interval."""
CHUNK = 4_000_000
SECONDS = 120.0
"""What takes longer than this is stopped."""
AT_LEAST = {"Q1": 5.0, "Q2": 5.0, "Q3": 5.0, "Q4": 10.0, "Q5": 10.0}


@dataclass(slots=True)
class Found:
    """What was measured for one size: by query, and then by what was done."""

    size: int
    fixed: int
    figures: dict[str, dict[str, Figure]] = field(default_factory=dict)
    by_length: dict[str, dict[int, Figure]] = field(default_factory=dict)
    """Figure 7: by query and number of messages in the interval."""
    at_fixed: dict[str, Figure] = field(default_factory=dict)
    records: dict[str, list[WaveRecord]] = field(default_factory=dict)
    """What the waves of Q'(1%) did, by query."""
    """The same queries installed, without declared facts and with them."""

    def faster(self, query: str, asked: str = HUNDREDTH) -> float:
        """How many times faster Q'(1%) is than Q."""
        return self.figures[query]["Q"].median / self.figures[query][asked].median


def main(*sizes: int) -> None:
    wanted = sorted(sizes or SIZES)
    if wanted[-1] >= LARGE:
        os.environ.setdefault("TIDINGS_SPARK_MEMORY", "9g")
    found = [measured(size, whole=size == wanted[0]) for size in wanted]
    stop_spark()
    report(found).publish()


def measured(size: int, *, engine: Engine = "spark", fixed: int = FIXED, whole: bool = True, runs: int = 5) -> Found:
    """Take one size through its stages."""
    progress(f"tapestry: generating {size:,} messages …")
    news, found = messages(size + fixed), Found(size, fixed)
    runs = min(runs, 3) if size >= LARGE else runs
    clock = tidings.ManualClock(BEGIN)
    with database(engine, execution="auto", clock=clock) as db:
        db.sql(SCHEMA)
        stage = Stage(db, clock, news, runs)
        stage.fill(round(size * 0.891))
        stage.grow(round(size * 0.99))
        _lengths(stage, found)
        db.fold()
        stage.grow(size)
        _against_whole_queries(stage, found, engine)
        if whole:
            _whole(stage, found)
        db.fold()
        stage.grow(size + fixed)
        for name in QUERIES:
            progress(f"tapestry: {size:,} messages, {name} over a fixed interval …")
            found.at_fixed[name] = stage.turns(name, {"": fixed})[""]
    return found


@dataclass(slots=True)
class Stage:
    """A database that messages arrive in."""

    db: tidings.Database
    clock: tidings.ManualClock
    news: Messages
    runs: int
    here: int = 0

    def fill(self, until: int) -> None:
        """Let messages arrive and become part of the base, as many at a time as memory bears well."""
        for end in (*range(CHUNK, until, CHUNK), until):
            self.grow(end)
            self.db.fold()

    def grow(self, until: int) -> None:
        """Let messages arrive, at their own instants."""
        progress(f"tapestry: messages {self.here:,} to {until:,} arrive …")
        self.clock.set(self.news.time(until))
        self.db.load("msgs", self.news.part(self.here, until))
        self.here = until

    def changes(self, name: str, count: int) -> Callable[[], object]:
        """What the last so many messages changed for a query; hardly an interval is asked for twice."""
        begin = max(self.here - count, 0)
        begins = itertools.cycle(range(begin, max(begin + 1, min(begin + 100, self.here))))
        return lambda: self.db.changes(QUERIES[name], since=self.news.time(next(begins)), per_commit=True)

    def turns(
        self,
        name: str,
        counts: dict[str, int],
        plain: Plain | None = None,
        warm: int | None = None,
        runs: int | None = None,
    ) -> dict[str, Figure]:
        """Measure a query over intervals, in turns, and perhaps with the query itself."""
        works = {label: (nothing, self.changes(name, count)) for label, count in counts.items()}
        if plain is not None:
            text = at_present(name, self.clock.now())
            works["Q"] = nothing, lambda: plain.fetch(text)
        warm = warm if warm is not None else 1 if self.runs < 5 else 2
        return measure_in_turns(works, runs=runs or self.runs, warm=warm, limit=limited(self.db, SECONDS))


def at_present(name: str, now: int) -> str:
    """A query with the present instant in the place of the clock."""
    return QUERIES[name].replace("now()", f"TIMESTAMP '{instant(now):%Y-%m-%d %H:%M:%S.%f}'")


def _lengths(stage: Stage, found: Found) -> None:
    """Q'(10%) of every query, and shorter intervals of Q1 and Q3."""
    for name in QUERIES:
        progress(f"tapestry: {found.size:,} messages, {name} by length of the interval …")
        large = found.size >= LARGE
        shares = SHARES[:: 2 if large else 1] if name in ("Q1", "Q3") else SHARES[:1]
        counts = {str(share): max(1, round(stage.here * share)) for share in shares}
        figures = stage.turns(name, counts, warm=0 if large else None, runs=1 if large else None)
        found.figures[name] = {TENTH: figures[str(SHARES[0])]}
        if len(shares) > 1:
            found.by_length[name] = {counts[share]: figure for share, figure in figures.items()}


def _against_whole_queries(stage: Stage, found: Found, engine: Engine) -> None:
    """Q and Q'(1%), in turns."""
    if engine == "spark":
        plain: Plain = PlainSpark(stage.db, ["msgs"])
    else:
        plain = PlainDuckDB({"msgs": stage.news.part(0, stage.here)})
    for name in QUERIES:
        progress(f"tapestry: {found.size:,} messages, {name} and Q'(1%) …")
        count = max(1, found.size // 100)
        found.figures[name] |= stage.turns(name, {HUNDREDTH: count}, plain)
        found.records[name] = stage.db.waves()[-1:]
        with executing(stage.db, "spark"):
            few = found.size >= LARGE
            found.figures[name] |= stage.turns(name, {ON_SPARK: count}, warm=0 if few else 1, runs=1 if few else 2)


def _whole(stage: Stage, found: Found) -> None:
    """Q'(100%): everything that has ever happened."""
    for name in QUERIES:
        progress(f"tapestry: {found.size:,} messages, {name} over the whole history …")
        work = stage.changes(name, stage.here)
        limit = limited(stage.db, SECONDS)
        figure = measure_in_turns({WHOLE: (nothing, work)}, runs=1, warm=0, limit=limit)[WHOLE]
        found.figures[name][WHOLE] = figure
        if name in found.by_length:
            found.by_length[name][stage.here] = figure


def report(found: list[Found]) -> Report:
    tables = [_costs(f) for f in found]
    sizes = tuple(f"{f.size:,}" for f in found)
    rows = tuple((q, *(ms(f.at_fixed[q].median) for f in found)) for q in QUERIES)
    tables.append(Table(f"Figure 8: the last {found[0].fixed:,} messages, by size of the database", ("", *sizes), rows))
    for query in found[0].by_length:
        lengths = tuple(
            (f"{f.size:,}", f"{count:,}", ms(figure.median), ms(figure.low), ms(figure.high))
            for f in found
            for count, figure in sorted(f.by_length[query].items())
        )
        header = ("messages", "in the interval", "median", "lowest", "highest")
        tables.append(Table(f"Figure 7: {query} by length of the interval", header, lengths))
    records = {f"{f.size:,} messages, {query}": r for f in found for query, r in f.records.items()}
    tables.append(spent.table("what the last wave of Q'(1%) was occupied with", records))
    about = (
        "Q: the query in Spark SQL over the cached messages, all rows fetched.\n"
        "Q'(n%): every change that the last n% of the messages made, each at its instant.\n"
        f"too long: stopped after {SECONDS:.0f} s."
    )
    return finished("tapestry", about, tables, bars(found), plots(found))


def _costs(found: Found) -> Table:
    asked = ("Q", WHOLE, TENTH, HUNDREDTH, ON_SPARK)
    header = ("", *asked, f"Q / {HUNDREDTH}", f"Q / {ON_SPARK}")
    rows = []
    for query, figures in found.figures.items():
        cells = (ms(figures[k].median) if k in figures else "" for k in asked)
        rows.append((query, *cells, times(found.faster(query)), times(found.faster(query, ON_SPARK))))
    return Table(f"Figures 5, 6 and 9: {found.size:,} messages", header, tuple(rows))


def bars(found: list[Found]) -> list[Bar]:
    largest = found[-1]
    out = [
        Bar(f"{largest.size:,} messages, Q / Q'(1%), {query}", largest.faster(query), limit, False)
        for query, limit in AT_LEAST.items()
    ]
    if len(found) > 1:
        before = found[-2]
        growth = largest.at_fixed["Q3"].median / before.at_fixed["Q3"].median
        out.append(Bar(f"Figure 8, Q3, {largest.size:,} / {before.size:,} messages", growth, 1.3, True))
    return out


def plots(found: list[Found]) -> list[Plot]:
    lengths = {
        f"{query}, {f.size:,} messages": [(count, figure.median) for count, figure in sorted(by_count.items())]
        for f in found
        for query, by_count in f.by_length.items()
    }
    sizes = {query: [(f.size, f.at_fixed[query].median) for f in found] for query in QUERIES}
    whole = {f"{query}, recomputed": [(f.size, f.figures[query]["Q"].median) for f in found] for query in ("Q3", "Q4")}
    return [
        Plot("tapestry-length", "Cost by length of the interval", "messages in the interval", "seconds", lengths),
        Plot("tapestry-size", "Cost of a fixed interval by size", "messages in all", "seconds", sizes | whole),
    ]


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

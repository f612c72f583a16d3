"""The queries of the Tapestry paper as continuous queries: what a run takes, by both methods, with and without facts.

Each query is installed twice, once to find what matches by its changes and once by its rewriting, and once more from
the beginning of time.  Then messages arrive in stages, and each stage is one run of each query: what is new is found,
held against what was delivered, and recorded.

    the last 10%      Q'(10%) of Figures 5, 6 and 9
    the last 1%       Q'(1%), a few times
    a fixed number    Figure 8
    everything        Q'(100%): the first run of a query that is installed when all messages are there

With the declared fact that a reply comes after what it answers, the rewritings of Q3 and Q5 are the paper's Q3' and
Q5': the guard of one table is left.  Q is the query itself in plain SQL over the same messages, all rows fetched.

    python -m benchmarks.continuous [messages …]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial

import tidings
from benchmarks.data.messages import BEGIN, QUERIES, SCHEMA, messages
from benchmarks.measure import Figure, progress, timed
from benchmarks.report import Report, Table, finished, ms, times
from benchmarks.setting import Plain, PlainDuckDB, PlainSpark, database, stop_spark
from benchmarks.tapestry import at_present
from tidings.front.choices import Engine

SIZES = (380_000, 1_900_000)
NEW = 38_000
METHODS = ("changes", "rewriting")
FACT = "CONSTRAINT replies_come_later (inreplyto) AFTER msgs (msgid) NOT ENFORCED"
WHOLE, TENTH, HUNDREDTH, FIXED = "Q'(100%)", "Q'(10%)", "Q'(1%)", "fixed"
STAGES = (WHOLE, TENTH, HUNDREDTH, FIXED)


@dataclass(slots=True)
class ContinuousRuns:
    """What runs took, by query, method and stage; what each query delivered; and what the query itself takes."""

    size: int
    fixed: int
    facts: bool
    figures: dict[tuple[str, str], dict[str, Figure]] = field(default_factory=dict)
    delivered: dict[tuple[str, str], int] = field(default_factory=dict)
    plain: dict[str, Figure] = field(default_factory=dict)


def measured(size: int, *, engine: Engine, fixed: int, facts: bool, runs: int = 3) -> ContinuousRuns:
    """Take one size through its stages."""
    found, news = ContinuousRuns(size, fixed, facts), messages(size + fixed)
    schema = SCHEMA.replace("ts TIMESTAMP\n", f"ts TIMESTAMP,\n  {FACT}\n") if facts else SCHEMA
    clock = tidings.ManualClock(BEGIN)
    with database(engine, execution="auto", clock=clock) as db:
        db.sql(schema)
        here = 0

        def grow(until: int) -> None:
            nonlocal here
            clock.set(news.time(until))
            db.load("msgs", news.part(here, until))
            here = until

        grow(round(size * (0.9 - runs / 100)))
        db.fold()
        _install(db, "since = 'now'")
        _run(db, found, None)
        grow(round(size * (1 - runs / 100)))
        _run(db, found, TENTH)
        for n in range(runs - 1, -1, -1):
            grow(round(size * (1 - n / 100)))
            _run(db, found, HUNDREDTH)
        grow(size + fixed)
        _run(db, found, FIXED)
        _install(db, "since = 'beginning'", "_whole")
        _run(db, found, WHOLE, "_whole")
        db.fold()
        plain: Plain = PlainSpark(db, ["msgs"]) if engine == "spark" else PlainDuckDB({"msgs": news.part(0, here)})
        for query in QUERIES:
            text = at_present(query, clock.now())
            took = tuple(timed(partial(plain.fetch, text)) for _ in range(runs + 1))
            found.plain[query] = Figure("Q", took[1:])
        for query, method in found.figures:
            (row,) = db.query(f"SELECT count(*) AS rows FROM {query}_{method}_whole").rows()
            found.delivered[query, method] = row["rows"]
    return found


def _install(db: tidings.Database, since: str, suffix: str = "") -> None:
    for query, text in QUERIES.items():
        for method in METHODS:
            options = f"on = 'manual', method = '{method}', {since}"
            db.sql(f"CREATE CONTINUOUS QUERY {query}_{method}{suffix} AS {text} WITH ({options})")


def _run(db: tidings.Database, found: ContinuousRuns, stage: str | None, suffix: str = "") -> None:
    """Run every query once; the first runs of queries that begin in the middle are not counted."""
    for query in QUERIES:
        for method in METHODS:
            progress(f"tapestry: {found.size:,} messages, {query} by {method}, {stage or 'beginning'} …")
            took = timed(partial(db.sql, f"REFRESH CONTINUOUS QUERY {query}_{method}{suffix}"))
            if stage is not None:
                figures = found.figures.setdefault((query, method), {})
                before = figures[stage].times if stage in figures else ()
                figures[stage] = Figure(stage, (*before, took))


def report(found: list[ContinuousRuns]) -> Report:
    tables = [_costs(one) for one in found]
    about = (
        "Q: the query in plain SQL over the same messages, all rows fetched.\n"
        "Each other column is one run of a continuous query: what is new is found, held against what was delivered,\n"
        "and recorded durably. Q'(n%): after the last n% of the messages came."
    )
    return finished("continuous", about, tables, [])


def _costs(found: ContinuousRuns) -> Table:
    """The times of one size."""
    stages = (stage if stage != FIXED else f"{found.fixed:,} messages" for stage in STAGES)
    header = ("", "method", "Q", *stages, f"Q / {HUNDREDTH}", "delivered")
    rows = []
    for (query, method), figures in found.figures.items():
        plain = found.plain[query].median
        cells = (ms(figures[stage].median) for stage in STAGES)
        ratio = times(plain / figures[HUNDREDTH].median)
        rows.append((query, method, ms(plain), *cells, ratio, f"{found.delivered[query, method]:,}"))
    facts = "a reply is declared to come after what it answers" if found.facts else "no facts declared"
    return Table(f"Figures 5, 6, 8 and 9: {found.size:,} messages, {facts}", header, tuple(rows))


def main(*sizes: int) -> None:
    wanted = [(size, facts) for size in sorted(sizes or SIZES) for facts in (False, True)]
    found = [measured(size, engine="spark", fixed=NEW, facts=facts) for size, facts in wanted]
    stop_spark()
    report(found).publish()


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

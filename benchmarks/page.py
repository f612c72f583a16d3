"""Writes ``docs/performance.md`` from the results of the last runs: tables, plots, and which bars were met.

The words are here, the numbers are not: a page with old numbers is one ``make bench`` away from a new one.

    python -m benchmarks.page
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import measure
from benchmarks.report import Bar, Report, Table

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"

HEAD = """\
# Performance

What a wave costs, against what it replaces. `make bench` measures everything on this page and writes it; one workload
is measured by `make bench BENCHMARKS=inventory`. The numbers below are from one machine:

> {facts}

Read them as ratios. Whatever is compared was measured in turns in the same run, and times are medians. A *recompute* is
the query in plain SQL over the same cached tables, with all its rows fetched. Times of Tidings run from the end of the
last commit until all changes are at hand, each with its instant; bringing a stored view up to date includes recording
it durably.

## Bars

What was promised before it was measured. A bar that is missed says by how much.

{bars}
"""

WORKLOADS = {
    "inventory": (
        "Inventory",
        """\
The condition of the AMOS paper, "quantity below threshold", over five tables. A batch is a number of transactions that
each update one item by its key. The changes of each are told apart, however many there are in the batch. The *trivial
query* fetches one row by key from the same cached table, in one Spark job: nothing on Spark can be faster.

At the smaller size two other systems watch the same condition, in turns with the waves of `execution="auto"`. pg_ivm
brings a view in PostgreSQL up to date inside each transaction. Its *overhead* is how much longer a transaction takes
than the same update of a table that no view reads. Pathway keeps the joins in memory. It is given a batch as one
commit, so it does not tell the transactions apart, and nothing it has is durable. `make peers` installs PostgreSQL and
Pathway; pg_ivm is built from its release with the headers of the server (Debian: `postgresql-server-dev-15`). What is
not installed is left out, and named below.
""",
    ),
    "tapestry": (
        "Tapestry",
        """\
The five queries of the Tapestry paper over generated news: conversations with replies, and newsgroups of very unequal
size. Q is the query, Q'(n%) are the changes that the last n% of the messages made, each at its instant. There are as
many messages a year as the paper had, so a larger database is an older one, and 1% of it is a longer time. Waves run
with `execution="auto"`; the last columns have them on Spark alone.
""",
    ),
    "continuous": (
        "Continuous queries",
        """\
The same five queries installed by `CREATE CONTINUOUS QUERY`, each by both methods: from the changes of the tables, and
by its rewriting, one query over the tables as they are that is guarded by times. `method` chooses one; without it the
one that is estimated to be cheaper is taken.
""",
    ),
    "tpch": (
        "TPC-H",
        """\
The 22 queries as stored views. A change of one percent means: half a percent of the orders go with their items, half a
percent come, and one percent of the customers and of the parts are altered. Every view is stored twice, to measure the
strategy that Tidings chooses and the one it does not. *Recompute* is the query in Spark SQL; the last column has it in
DuckDB, over plain tables with the same rows, two threads and a process of its own.
""",
    ),
    "tpch-5": (
        "TPC-H at scale 5",
        "The same on five times the data: 0.1% of it changes, once after a first round that does not count.\n",
    ),
    "states": (
        "States",
        """\
The state of a table is its base without the rows that went and with those that came since. The 22 queries of TPC-H are
run over such states, and in Spark SQL over the same cached bases without a log.
""",
    ),
    "large": (
        "A table larger than memory",
        """\
A stored view over a table of 100 million rows, with 2 GB for Spark and 1 GB for the process: waves read a few
row groups.
""",
    ),
    "views": (
        "Many views",
        """\
Up to two hundred stored views over the inventory, most of which read the same join and do something of their own with
it. One `db.advance()` brings all of them up to date.
""",
    ),
    "rules": (
        "Rules",
        """\
Conditions are judged before the commit, by the differentials of their queries. Rules whose tables are not touched are
not looked at; activations of a rule are one join; rules that differ in a constant are one query. What is told goes
through the outbox: a file is synced per message, a listener in the process is not.
""",
    ),
    "latency": (
        "Latency",
        """\
One thread commits on a schedule, another follows the inventory's condition through a subscription. Both share one
process and one database, which lets one thread in at a time.
""",
    ),
    "commits": (
        "Commits",
        """\
One commit with a rule that is judged, a stored view that is brought up to date and a reader who is told; and a database
with twenty stored views and twenty rules, into which one thread commits on a schedule.
""",
    ),
}
"""Title and introduction of each workload, in the order of the page."""

SPENT: dict[str, str] = {
    "inventory": """\
On Spark a small wave is one job of one task, and nearly all of its time goes into planning it: reading the SQL,
optimizing a join of five restricted tables, and holding the cached batches against the listed keys. A wave of 100 lists
a hundred keys for each table, which Spark's optimizer goes through many times; so it stays above its bar against the
trivial query, the more so the warmer the JVM is, since the trivial query gains most from that. The wave of 10,000
joins its keys instead, in eleven jobs. In the process no query is planned anew: a wave of one is half lookups and plans
in Python, half DuckDB.
""",
    "tapestry": """\
On Spark alone Q'(1%) of a join hardly pays: the keys of the delta are joined with all messages, in several jobs that
each go through the cached table. In the process the row groups that may hold the keys are decoded and nothing else, and
since replies are close to what they answer these are few. Q4 takes longest: the messages that come of age in the
interval are read for the time that passes, and every reply to them, before any is judged.
""",
    "tpch": """\
In the process one half of the time goes into looking rows up, keys that are spread over all of a table, and the other
into running the steps over them. DuckDB by itself goes through all rows of scale 1 in less time: as long as the tables
are that small, in one process, and nobody asks at which instant what changed, a recompute there is faster. On Spark
alone a refresh is a handful of jobs over a few thousand rows, and what Spark takes to plan and to start them is what it
costs: about as much as the plain query at this scale. Q17, Q18, Q20 and Q21 take more, since they look rows up in
several rounds, each with the keys that the one before found. With 10% of the rows changed the other way is slow: logs
are not folded while this is measured, and a recompute has to take away what went from all rows first. The estimate does
not know that, hence the wrong choices there.
""",
    "latency": """\
What was committed is told within a wave or two: about 20 ms with `auto`, 0.1 s on Spark. While a wave runs no commit
does, and the reader asks again as soon as it has been told; so waves, one per commit, set the pace, and beyond 45
commits per second, or 12 on Spark, commits queue up. A reader that asks less often lets more of them through: a batch
of 100 takes little longer than one of 1.
""",
    "views": """\
Views that differ only in constants have one wave; on Spark not where they keep groupings. So there 200 views of eight
families are eighty waves: five for the families without groupings, and one for each of the 75 other views. Forty waves
run as one query, and reading and planning it takes nearly all of the time. In the process views with groupings have one
wave per family since these figures were taken; here each still took 5 ms, and one view of the first family alone 12 ms.
So 200 views took more times what one takes than they do on Spark, and a twentieth of the time.
""",
    "commits": """\
Judging twenty rules is most of a commit here. By the changed rows alone all but three are done with; these look rows up
and run a step each, and every query in DuckDB takes one millisecond or two. While a wave runs no commit does, and the
other way round: so commits and waves together set the pace.
""",
    "rules": """\
With 100,000 activations a commit looks a few of them up by the key of what changed. Rules of one shape are one query
over their constants, so a thousand rules of twenty shapes are twenty queries, and planning them is what a commit waits
for.
""",
}
"""Where the time goes, by workload: written by hand after looking."""

TEXTS = {
    "first_hour": (
        "The first hour",
        """\
What a new user waits for on Spark in local mode, in processes that start Spark if they have to: three small tables, two
stored views, a few statements. *Before* is the version before small reads, loads and folds came to run in process.
""",
    ),
    "kernel": ("Kernel", "Compile times, and one small wave.\n"),
    "operators": ("Operators", "A delta of 100 rows through every operator, over a small and a large table.\n"),
    "store": ("Store", "Commits, loading, reopening and space.\n"),
}
"""Workloads whose reports are text."""


def page() -> str:
    """The whole page."""
    found = [r for r in map(Report.read, WORKLOADS) if r is not None]
    bars = [(r, b) for r in found for b in r.bars]
    facts = found[0].facts if found else measure.facts()
    parts = [HEAD.format(facts=facts, bars=_bars(bars) if bars else "Nothing has been measured yet.")]
    parts += [_workload(r) for r in found]
    for name, (title, text) in TEXTS.items():
        path = measure.RESULTS / f"{name}.txt"
        if path.exists():
            lines = path.read_text(encoding="utf-8").rstrip().splitlines()[2:]
            parts.append("\n".join([f"## {title}", "", text, "```text", *lines, "```", ""]))
    return "\n".join(parts)


def _bars(bars: list[tuple[Report, Bar]]) -> str:
    met = sum(b.met for _, b in bars)
    rows = tuple(
        (r.name, b.claim, f"{b.value:.2f}", f"at {'most' if b.at_most else 'least'} {b.limit:g}", b.outcome)
        for r, b in bars
    )
    table = Table("", ("workload", "claim", "measured", "bar", ""), rows)
    return f"{met} of {len(bars)} are met.\n\n{_markdown(table)}"


def _workload(report: Report) -> str:
    title, text = WORKLOADS[report.name]
    parts = [f"## {title}", "", text]
    for plot in report.plots:
        parts += [f"![{plot.title}](images/{plot.name}.png)", ""]
    for table in report.tables:
        parts += [f"{_sentence(table.title)}:", "", _markdown(table), ""]
    if report.name in SPENT:
        parts += [f"{SPENT[report.name].rstrip()}", ""]
    parts += [*(f"{_sentence(note)}." for note in report.notes), *([""] if report.notes else [])]
    parts += [f"{_sentence(report.memory)}.", ""]
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _markdown(table: Table) -> str:
    rows = ["|" + "|".join(f" {cell} " for cell in row) + "|" for row in (table.header, *table.rows)]
    rows.insert(1, "|" + "---|" + "---:|" * (len(table.header) - 1))
    return "\n".join(row.replace("|  |", "| |") for row in rows)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}")


if __name__ == "__main__":
    main()

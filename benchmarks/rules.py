"""Rules: what they cost when nothing concerns them, when they are many, and how fast they tell.

Bars: with a thousand rules whose tables are not touched a commit takes at most 1.05 times what it takes without rules;
with 100,000 activations of one rule less than 3 times what it takes with one; with a thousand rules of twenty shapes
less than 10 times what it takes with twenty rules, on Spark alone at most 5 times; with ten thousand rules of two
hundred shapes less than 10 times what it takes with two hundred.

    python -m benchmarks.rules [items] [engine …]     engines: duckdb, spark, auto (Spark, in the process)
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import tidings
from benchmarks.data.inventory import load
from benchmarks.data.rulebook import SHAPES, activate, write, write_idle
from benchmarks.measure import Figure, Work, measure_in_turns, nothing, progress
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from benchmarks.setting import database, never_fold, stop_spark
from tidings.deliver.deliveries import Deliveries, DeliverySettings

ENGINES = {
    "duckdb": partial(database, "duckdb"),
    "spark": partial(database, "spark"),
    "auto": partial(database, "spark", execution="auto"),
}
RUNS = {"duckdb": 40, "spark": 5, "auto": 20}
IDLE = (0, 10, 1_000)
ACTIVATIONS = (1, 1_000, 100_000)
RULES = (20, 100, 1_000)
MANY_RULES = (200, 10_000)
"""Rules of ten variants of each shape; where every judgement is a job of Spark, none."""
FIRINGS = 2_000
BARS = {"idle": 1.05, "activations": 3.0, "shapes": 10.0, "many": 10.0}
SPARK_BAR = 5.0
"""That of the shapes on Spark alone."""

CHANNELS = {"file": "DO FILE 'told.jsonl'", "in-process": "DO NOTIFY 'watchers'"}


@dataclass(frozen=True, slots=True)
class Told:
    """How many firings took how long, from their transactions to their targets."""

    firings: int
    judged: float
    """Seconds until all were judged and recorded, by one advance."""
    delivered: float
    """Seconds until all were delivered."""

    @property
    def rate(self) -> float:
        return self.firings / (self.judged + self.delivered)


@dataclass(slots=True)
class Found:
    """The time of commits by number of rules or activations, and how fast rules tell."""

    items: int
    engine: str
    idle: dict[int, Figure] = field(default_factory=dict)
    activations: dict[int, Figure] = field(default_factory=dict)
    shapes: dict[int, Figure] = field(default_factory=dict)
    many: dict[int, Figure] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)


def main(size: str = "10_000", *engines: str) -> None:
    items, found = int(size), []
    for engine in engines or ENGINES:
        found.append(measured(items, engine, runs=RUNS[engine]))
        if engine != "duckdb":
            stop_spark()
    report(found).publish()


def measured(
    items: int,
    engine: str = "duckdb",
    *,
    idle: tuple[int, ...] = IDLE,
    activations: tuple[int, ...] = ACTIVATIONS,
    rules: tuple[int, ...] = RULES,
    many: tuple[int, ...] = MANY_RULES,
    firings: int = FIRINGS,
    runs: int = 40,
) -> Found:
    """Measure all of it on one engine."""
    found = Found(items, engine)
    found.idle = _commits(items, engine, "idle rules", write_idle, idle, runs, each=20)
    found.activations = _commits(
        items, engine, "activations", lambda db, count: activate(db, count, items), activations, runs
    )
    found.shapes = _commits(items, engine, "rules", write, rules, runs)
    if engine != "spark":
        found.many = _commits(items, engine, "rules", partial(write, variants=10), many, min(runs, 10))
    for channel in CHANNELS:
        progress(f"rules: {firings:,} firings on {engine}, {channel} …")
        found.told[channel] = _told(items, engine, channel, firings)
    return found


Prepare = Callable[[tidings.Database, int], None]


def _commits(
    items: int, engine: str, what: str, prepare: Prepare, counts: tuple[int, ...], runs: int, each: int = 1
) -> dict[int, Figure]:
    """The time of a commit of one updated row, by some count; all databases are measured in turns.

    One measurement is of ``each`` commits: where they are short, a disk has moods.
    """
    with ExitStack() as opened:
        works: dict[str, Work] = {}
        for count in counts:
            progress(f"rules: {count:,} {what} on {engine} …")
            db = opened.enter_context(_inventory(items, engine))
            prepare(db, count)
            db.fold()
            works[str(count)] = (nothing, _update(db, items, each))
        figures = measure_in_turns(works, runs=runs, warm=min(5, runs))
    return {int(count): Figure(count, tuple(t / each for t in f.times)) for count, f in figures.items()}


@contextmanager
def _inventory(items: int, engine: str) -> Iterator[tidings.Database]:
    with ENGINES[engine]() as db:
        load(db, items)
        never_fold(db)
        yield db


def _update(db: tidings.Database, items: int, each: int) -> Callable[[], object]:
    """Transactions that each give an item another quantity."""
    rng = random.Random(7)

    def update() -> None:
        for _ in range(each):
            with db.transaction() as tx:
                tx.update("quantity", [{"item": rng.randrange(items), "qty": rng.randrange(10, 300)}])

    return update


def _told(items: int, engine: str, channel: str, firings: int) -> Told:
    """Let a rule fire once per transaction, judge all transactions at once, and deliver what it sends."""
    with tempfile.TemporaryDirectory() as folder, ENGINES[engine]() as db:
        db.sql("CREATE TABLE event_log (id INT, qty INT)")
        never_fold(db)
        db.sql(f"CREATE RULE tell WHEN SELECT id, qty FROM event_log {CHANNELS[channel]} WITH (condition = 'detached')")
        deliveries = Deliveries(db._parts.storage.rule_tables, settings=DeliverySettings(files=folder))
        listener = deliveries.listen("watchers", room=firings)
        _warm(db, deliveries)
        for number in range(firings):
            with db.transaction() as tx:
                tx.insert("event_log", [(number, number % 7)])
        judged = _seconds(db.advance)
        delivered = _seconds(deliveries.step)
        entries = deliveries.entries("delivered")
        assert len(entries) == firings + 1
        if channel == "in-process":
            heard = list(itertools.takewhile(bool, iter(lambda: listener.get(timeout=0), None)))
            assert len(heard) == firings
        deliveries.close()
    return Told(firings, judged, delivered)


def _warm(db: tidings.Database, deliveries: Deliveries) -> None:
    with db.transaction() as tx:
        tx.insert("event_log", [(-1, 0)])
    db.advance()
    deliveries.step()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# what is reported


def _ratio(figures: Mapping[int, Figure]) -> float:
    return figures[max(figures)].median / figures[min(figures)].median


def _rows(found: list[Found], figures: Callable[[Found], Mapping[int, Figure]]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            f.engine,
            f"{count:,}",
            ms(figure.median),
            ms(figure.low),
            ms(figure.high),
            times(figure.median / figures(f)[min(figures(f))].median),
        )
        for f in found
        for count, figure in figures(f).items()
    )


def report(found: list[Found]) -> Report:
    def table(title: str, what: str, figures: Callable[[Found], Mapping[int, Figure]]) -> Table:
        return Table(title, ("engine", what, "commit", "lowest", "highest", "times the first"), _rows(found, figures))

    told = Table(
        "firings per second, one per transaction, all judged by one advance",
        ("engine", "channel", "firings", "judged and recorded", "delivered", "both"),
        tuple(
            (
                f.engine,
                channel,
                f"{t.firings:,}",
                f"{t.firings / t.judged:,.0f}/s",
                f"{t.firings / t.delivered:,.0f}/s",
                f"{t.rate:,.0f}/s",
            )
            for f in found
            for channel, t in f.told.items()
        ),
    )
    tables = [
        table("rules whose tables are not touched", "rules", lambda f: f.idle),
        table("one rule with parameters", "activations", lambda f: f.activations),
        table(f"rules of {len(SHAPES)} shapes that are all judged", "rules", lambda f: f.shapes),
        table(f"rules of {10 * len(SHAPES)} shapes that are all judged", "rules", lambda f: f.many),
        told,
    ]
    bars = [bar for f in found for bar in _bars(f)]
    lines = {
        f"{name}, {f.engine}": [(float(n), x.median) for n, x in figures.items()]
        for f in found
        for name, figures in (("activations", f.activations), (f"rules of {len(SHAPES)} shapes", f.shapes))
    }
    plot = Plot("rules", "One commit, by rules or activations", "rules or activations", "seconds", lines)
    about = (
        f"The inventory of {found[0].items:,} items in a durable database. A commit updates the quantity of one item by"
        " its key; conditions are judged before it, and hardly any rule fires."
    )
    return finished("rules", about, tables, bars, [plot])


def _bars(found: Found) -> list[Bar]:
    named = {
        "idle": (found.idle, "idle rules / none"),
        "activations": (found.activations, "activations / one"),
        "shapes": (found.shapes, f"rules / {min(found.shapes)}"),
        "many": (found.many, f"rules / {min(found.many, default=0)}"),
    }
    bars = BARS | ({"shapes": SPARK_BAR} if found.engine == "spark" else {})
    return [
        Bar(f"{found.engine}, commit with {max(figures):,} {what}", _ratio(figures), bars[name], True)
        for name, (figures, what) in named.items()
        if figures
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])

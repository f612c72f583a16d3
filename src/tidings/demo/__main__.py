"""Show the day of :mod:`tidings.demo.story`: the network, the transactions, the tidings, the orders, the cost."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table as Grid

import tidings
from tidings.clock import instant, micros
from tidings.demo import story
from tidings.errors import TidingsError
from tidings.front.choices import Engine

WATCHED = "low_stock"

Row: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Watch:
    """Seconds taken by one piece of work."""

    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s"


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tidings.demo", description="Watch a factory inventory for a day.")
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark", help="default: spark, in local mode")
    parser.add_argument("--items", type=int, default=100_000, metavar="N", help="generic items; default: 100000")
    options = parser.parse_args(arguments)
    if options.items < 0:
        parser.error("--items cannot be negative")
    console = Console(highlight=False)
    try:
        run(options.engine, options.items, console)
    except TidingsError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 1
    return 0


def run(engine: Engine, generic: int, console: Console) -> None:
    """Tell the story on one engine."""
    clock = tidings.ManualClock(story.OPENING - story.PAUSE)
    with doing(console, f"starting {engine}"), quiet_start():
        db = tidings.open(engine=engine, clock=clock)
    with db:
        define(db, generic, console)
        console.print("\n[bold]What low_stock depends on[/bold]")
        console.print(network(db, WATCHED), markup=False)
        since = clock.now()
        times = commit_all(db, clock, console)
        with doing(console, f"one wave over {len(times)} transactions") as wave:
            changes = db.changes(WATCHED, since=since, per_commit=True)
        orders = db.query("SELECT item, amount, placed FROM orders").rows()
        tell(times, changes, {micros(row["placed"]): row for row in orders}, console)
        console.print(f"Between the first state and the last: {between(changes.net())}.")
        console.print(ordered(orders))
        console.print("\n[bold]To be ordered for items 1 and 2, as it is now[/bold]")
        for row in db.query("SELECT item, amount FROM to_order WHERE item <= 2").rows():
            console.print(f"item {row['item']}: {row['amount']} pieces")
        compare(db, since, wave, console)
    console.print(f"There were {generic + 2:,} items; the day touched 2 of them.")
    console.print("[dim]Try other numbers of --items: the recompute grows with them, the wave hardly does.[/]")


def define(db: tidings.Database, generic: int, console: Console) -> None:
    """Create tables and views, load the rows the day begins with, and let the rule watch from then on."""
    db.sql(story.sql("schema.sql"))
    db.sql(story.sql("views.sql"))
    with doing(console, f"loading {generic + 2:,} items into 6 tables"):
        for table, rows in story.opening_rows(generic).items():
            db.load(table, rows)
    db.sql(story.sql("rules.sql"))


def network(db: tidings.Database, view: str) -> str:
    """The dependency network, which is how an explanation begins."""
    return db.explain(view).split("\n\n")[0].split("\n", 1)[1]


def commit_all(db: tidings.Database, clock: tidings.ManualClock, console: Console) -> list[int]:
    """Commit every transaction of the day; their times.  The rule is judged before each commit."""
    times = []
    with doing(console, f"committing {len(story.DAY)} transactions, the rule looking on"):
        for deed in story.DAY:
            clock.advance(story.PAUSE)
            with db.transaction() as tx:
                for update in deed.updates:
                    tx.update(update.table, [update.old], [update.new])
            assert tx.time is not None
            times.append(tx.time)
    return times


def tell(times: list[int], changes: tidings.Delta, orders: Mapping[int, Row], console: Console) -> None:
    """Print each transaction with what it meant for the view, and what the rule ordered in it."""
    grid = Grid(
        "when", "transaction", "tidings", title="The day, judged transaction by transaction", title_justify="left"
    )
    for time, deed in zip(times, story.DAY, strict=True):
        news = [
            f"item {c.row['item']} {'[red]begins' if c.weight > 0 else '[green]ceases'} to be low[/]"
            for c in changes.rows()
            if c.time == time
        ]
        if time in orders:
            news.append(f"[bold]ordered: {orders[time]['amount']} of item {orders[time]['item']}[/]")
        grid.add_row(f"{instant(time):%H:%M}", deed.said, "\n".join(news) or "[dim]nothing changes[/]")
    console.print()
    console.print(grid)


def between(net: tidings.Delta) -> str:
    """What a net change says, in words."""
    words = [f"item {c.row['item']} {'became' if c.weight > 0 else 'is no longer'} low" for c in net.rows()]
    return ", ".join(words) or "nothing changed"


def ordered(orders: Sequence[Row]) -> str:
    """What the rule did, in words."""
    items = [row["item"] for row in orders]
    words = [f"item {item} {'once' if items.count(item) == 1 else 'twice'}" for item in sorted(set(items))]
    return f"The rule ordered {' and '.join(words)}: once per shortage, and nothing while one lasted."


def compare(db: tidings.Database, since: int, wave: Watch, console: Console) -> None:
    """Print what the wave cost and what the whole answer costs, the first time and when all is warm.

    The first times have no ratio: what runs first also pays for warming up the engine.  The whole answer is that of the
    tables as they were loaded, where no transaction is in the way.
    """

    def run_wave() -> None:
        db.changes(WATCHED, since=since, per_commit=True)

    def recompute() -> int:
        return len(db.query(WATCHED, as_of=since))

    with doing(console, "a full recompute") as full:
        rows = recompute()
    with doing(console, "both again, to see them warm"):
        warm_wave, warm_full = fastest(run_wave), fastest(recompute)
    grid = Grid("", "first time", "warm", title="What it cost", title_justify="left")
    grid.add_row(f"one wave over {len(story.DAY)} transactions", str(wave), str(warm_wave))
    grid.add_row(f"full recompute of {rows:,} rows", str(full), str(warm_full))
    grid.add_row("recompute / wave", "", f"{warm_full.seconds / warm_wave.seconds:.1f}")
    console.print()
    console.print(grid)


def fastest(work: Callable[[], object]) -> Watch:
    """The least of three times."""
    times = []
    for _ in range(3):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return Watch(min(times))


@contextmanager
def doing(console: Console, what: str) -> Iterator[Watch]:
    """Say what is going on, and how long it took if one had to wait."""
    watch, start = Watch(), perf_counter()
    with console.status(f"{what} …"):
        yield watch
    watch.seconds = perf_counter() - start
    if watch.seconds > 1:
        console.print(f"[dim]{what}: {watch.seconds:.1f} s[/]")


@contextmanager
def quiet_start() -> Iterator[None]:
    """Hide what a JVM writes to the terminal while it starts; if it does not start, write it after all."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            yield
        except BaseException:
            output.seek(0)
            os.write(terminal, output.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


if __name__ == "__main__":
    sys.exit(main())

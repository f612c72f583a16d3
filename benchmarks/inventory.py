"""The inventory of the AMOS paper: the condition "quantity below threshold", over batches of transactions.

A wave begins after the last commit of a batch and ends when its changes are at hand, one by one.  It is held against
three things measured in turns with it: one trivial query of one Spark job on the same cached table, and the whole
condition computed from scratch, in Spark SQL over the same cached tables and in DuckDB.  Both fetch all rows.

At the smaller size other systems that watch the condition are measured in turns with the waves of ``auto``: pg_ivm and
Pathway, if they are installed.

    python -m benchmarks.inventory [items …]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace

import pyarrow as pa

import tidings
from benchmarks import spent
from benchmarks.data.inventory import RECOMPUTE, TABLES, Sales, load, rows
from benchmarks.measure import Figure, Work, measure_in_turns, nothing, progress
from benchmarks.peers.pathway import pathway
from benchmarks.peers.peer import LeftOut, Peer
from benchmarks.peers.pg_ivm import OVERHEAD, overhead, pg_ivm
from benchmarks.report import Bar, Plot, Report, Table, finished, ms, times
from benchmarks.setting import EXECUTIONS, PlainDuckDB, PlainSpark, database, stop_spark
from tidings.front.choices import Engine, Execution
from tidings.waves.record import WaveRecord

BATCHES = (1, 100, 10_000)
TRIVIAL, SPARK, DUCKDB = "trivial query", "recompute in Spark SQL", "recompute in DuckDB"

PEERS: dict[str, Callable[[Mapping[str, pa.Table]], AbstractContextManager[Peer]]] = {
    "pg_ivm": pg_ivm,
    "Pathway": pathway,
}

TO_TRIVIAL = {"spark": 6.0, "auto": 2.5}
HUNDRED_TO_TRIVIAL = 7.0
"""What a wave of 100 on Spark may take of the trivial query at the larger size."""
TO_RECOMPUTE = {"spark": (7.0, 30.0), "auto": (15.0, 60.0)}
"""How many times faster than a recompute, at the smaller and at the larger size."""
MANY_TO_RECOMPUTE = 5.0
"""How many times faster than a recompute the largest batch is to be on Spark, at the larger size."""
MILLISECONDS = {1: 6.0, 10_000: 100.0}
"""What a wave of so many transactions may take in the process, at the smaller size."""


@dataclass(frozen=True, slots=True)
class Round:
    """What was measured for one size and one way of execution."""

    items: int
    execution: Execution
    figures: dict[str, Figure]
    many: dict[str, Figure]
    """The largest batch, and what it is compared with."""
    batches: tuple[int, ...] = BATCHES
    records: dict[int, list[WaveRecord]] = field(default_factory=dict)
    peers: dict[int, dict[str, Figure]] = field(default_factory=dict)
    """Other systems and waves in turns with them, by number of transactions."""
    left_out: tuple[str, ...] = ()
    """Why peers were not measured."""

    def wave(self, transactions: int) -> Figure:
        return (self.many if transactions == self.batches[-1] else self.figures)[_wave(transactions)]


def main(*sizes: int) -> None:
    wanted = sizes or (1_000_000, 5_000_000)
    rounds = [
        measured(items, execution, peers=execution == "auto" and items == min(wanted))
        for items in wanted
        for execution in EXECUTIONS
    ]
    stop_spark()
    report(rounds).publish()


def measured(
    items: int,
    execution: Execution,
    *,
    engine: Engine = "spark",
    batches: tuple[int, ...] = BATCHES,
    runs: int = 15,
    warm: int = 5,
    few: int = 3,
    peers: bool = False,
) -> Round:
    """Measure one size; on DuckDB there is no Spark to compare with."""
    progress(f"inventory: loading {items:,} items, execution {execution} …")
    clock = tidings.ManualClock(1)
    with database(engine, execution=execution, clock=clock) as db:
        load(db, items)
        waves = Scheduler(db, items)
        recomputes: dict[str, Work] = {}
        trivial: dict[str, Work] = {}
        if engine == "spark":
            plain, rng = PlainSpark(db, TABLES), random.Random(11)
            trivial[TRIVIAL] = nothing, lambda: plain.trivial(_point(rng.randrange(items)))
            recomputes[SPARK] = nothing, lambda: plain.fetch(RECOMPUTE)
        second = PlainDuckDB(rows(items))
        recomputes[DUCKDB] = nothing, lambda: second.fetch(RECOMPUTE)
        progress("inventory: small batches …")
        small = {_wave(n): waves.work(n) for n in batches[:-1]}
        figures = measure_in_turns(trivial | small, runs=runs, warm=warm)
        figures |= measure_in_turns(recomputes, runs=max(few, runs // 3), warm=min(warm, 2))
        progress(f"inventory: batches of {batches[-1]:,} …")
        for _ in range(min(warm, 2)):  # as large that its keys are joined, and short of ten thousand commits
            waves.commit(batches[-1] // 10)
            waves.wave(0)
        many = measure_in_turns(recomputes | {_wave(batches[-1]): waves.work(batches[-1])}, runs=few, warm=0)
        found = Round(items, execution, figures, many, batches, waves.records)
        if peers:
            with ExitStack() as stack:
                started, left_out = _started(stack, items)
                found = replace(found, peers=_beside(started, waves, batches, runs, few), left_out=left_out)
        return found


def _started(stack: ExitStack, items: int) -> tuple[list[Peer], tuple[str, ...]]:
    """The peers that are installed, with the same tables, and why the others are left out."""
    started: list[Peer] = []
    left_out: list[str] = []
    tables = rows(items)
    for name, peer in PEERS.items():
        progress(f"inventory: starting {name} …")
        try:
            started.append(stack.enter_context(peer(tables)))
        except LeftOut as reason:
            left_out.append(str(reason))
    return started, tuple(left_out)


def _beside(
    started: list[Peer], waves: Scheduler, batches: tuple[int, ...], runs: int, few: int
) -> dict[int, dict[str, Figure]]:
    """Peers and waves in turns; with the largest batch, whose transactions take long to commit, the peers alone."""
    figures: dict[int, dict[str, Figure]] = {}
    for n in batches:
        works = {name: work for peer in started for name, work in peer.works(n).items()}
        if not works:
            continue
        progress(f"inventory: peers, batches of {n:,} …")
        wave = {_wave(n): waves.work(n)} if n < batches[-1] else {}
        count = 10 * runs if n == 1 else runs if wave else few
        figures[n] = measure_in_turns(wave | works, runs=count, warm=few)
        cost = overhead(figures[n])
        if cost is not None:
            figures[n][cost.name] = cost
    return figures


@dataclass(slots=True)
class Scheduler:
    """Batches of transactions, and the changes of the condition after each."""

    db: tidings.Database
    items: int
    sales: Sales = field(init=False)
    since: int = 0
    records: dict[int, list[WaveRecord]] = field(default_factory=dict)
    """What the waves did, by number of transactions."""

    def __post_init__(self) -> None:
        self.sales = Sales(self.db, self.items)

    def work(self, transactions: int) -> Work:
        return lambda: self.commit(transactions), lambda: self.wave(transactions)

    def commit(self, transactions: int) -> None:
        self.since = self.sales.commit(transactions)

    def wave(self, transactions: int) -> None:
        self.db.changes("low_stock", since=self.since, per_commit=True)
        record = spent.last(self.db)
        if record is not None:
            self.records.setdefault(transactions, []).append(record)


def report(rounds: list[Round]) -> Report:
    header = ("items", "execution", "measured", "median", "lowest", "highest", "to trivial", "recompute is")
    lines = []
    for found in rounds:
        for figures in (found.figures, found.many):
            trivial, again = found.figures.get(TRIVIAL), figures.get(SPARK) or found.figures.get(SPARK)
            for figure in figures.values():
                if figures is found.many and figure.name == DUCKDB:
                    continue
                lines.append(
                    (
                        f"{found.items:,}",
                        found.execution,
                        figure.name if figures is found.figures else f"{figure.name} *",
                        ms(figure.median),
                        ms(figure.low),
                        ms(figure.high),
                        times(figure.median / trivial.median) if trivial else "",
                        times(again.median / figure.median) if again else "",
                    )
                )
    table = Table("inventory; * measured in turns with the largest batch", header, tuple(lines))
    records = {
        f"{r.items:,} items, {r.execution}, {_wave(n)}": r.records[n][-len(r.wave(n).times) :]
        for r in rounds
        for n in r.batches
    }
    occupied = spent.table("what the waves were occupied with", records)
    about = (
        "The condition of the AMOS inventory over tables cached and sorted by item, Spark local mode.\n"
        "A batch is so many transactions, each an update of one item by key; a wave tells the changes of each."
    )
    notes = [note for found in rounds for note in found.left_out]
    tables = [table, *(_peers(found) for found in rounds if found.peers), occupied]
    return finished("inventory", about, tables, bars(rounds), plots(rounds), notes)


def _peers(found: Round) -> Table:
    """Other systems, and the waves they were measured in turns with."""
    lines = []
    for n, figures in found.peers.items():
        wave = figures.get(_wave(n), found.wave(n)).median
        for figure in figures.values():
            ratio = times(wave / figure.median)
            lines.append((f"{n:,}", figure.name, ms(figure.median), ms(figure.low), ms(figure.high), ratio))
    header = ("transactions", "measured", "median", "lowest", "highest", "wave to it")
    return Table(f"other systems, {found.items:,} items", header, tuple(lines))


def bars(rounds: list[Round]) -> list[Bar]:
    out: list[Bar] = []
    sizes = sorted({r.items for r in rounds})
    for found in rounds:
        if SPARK in found.figures:
            out += _bars_by_size(found, is_larger=found.items > sizes[0])
        if OVERHEAD in found.peers.get(1, {}):
            peers = found.peers[1]
            ratio = peers[_wave(1)].median / peers[OVERHEAD].median
            out.append(Bar(f"{_where(found)}, {_wave(1)} / {OVERHEAD}", ratio, 1.0, True))
    for execution in EXECUTIONS:
        by_size = {r.items: r for r in rounds if r.execution == execution}
        if len(by_size) > 1:
            for n in by_size[sizes[0]].batches[:-1]:
                growth = by_size[sizes[-1]].wave(n).median / by_size[sizes[0]].wave(n).median
                out.append(Bar(f"{execution}, {_wave(n)}, {sizes[-1]:,} / {sizes[0]:,} items", growth, 1.3, True))
    return out


def _bars_by_size(found: Round, *, is_larger: bool) -> list[Bar]:
    """What was promised for one size and execution."""
    out: list[Bar] = []
    where, on_spark = _where(found), found.execution == "spark"
    trivial, again = found.figures[TRIVIAL].median, found.figures[SPARK].median
    for n in found.batches[:-1]:
        wave = found.wave(n).median
        limit = HUNDRED_TO_TRIVIAL if (n, is_larger, on_spark) == (100, True, True) else TO_TRIVIAL[found.execution]
        out.append(Bar(f"{where}, {_wave(n)} / trivial query", wave / trivial, limit, True))
        limit = TO_RECOMPUTE[found.execution][is_larger]
        out.append(Bar(f"{where}, recompute / {_wave(n)}", again / wave, limit, False))
    many = found.batches[-1]
    wave, again = found.wave(many).median, found.many[SPARK].median
    if not is_larger:
        out.append(Bar(f"{where}, {_wave(many)} / recompute", wave / again, 0.5, True))
    elif on_spark:
        out.append(Bar(f"{where}, recompute / {_wave(many)}", again / wave, MANY_TO_RECOMPUTE, False))
    if not is_larger and not on_spark:
        for n in found.batches:
            if n in MILLISECONDS:
                out.append(Bar(f"{where}, {_wave(n)}, ms", found.wave(n).median * 1000, MILLISECONDS[n], True))
    return out


def plots(rounds: list[Round]) -> list[Plot]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for found in rounds:
        for figure in (*found.figures.values(), found.wave(found.batches[-1])):
            name = f"{figure.name}, {found.execution}" if figure.name.startswith("wave") else figure.name
            if figure.name.startswith("wave") or found.execution == "spark":
                lines.setdefault(name, []).append((found.items, figure.median))
    return [Plot("inventory", "Inventory: one wave, and a recompute", "items", "seconds", lines)]


def _where(found: Round) -> str:
    return f"{found.items:,} items, {found.execution}"


def _wave(transactions: int) -> str:
    return f"wave of {transactions:,}"


def _point(item: int) -> str:
    return f"SELECT * FROM quantity WHERE item = {item}"


if __name__ == "__main__":
    main(*(int(a.replace("_", "")) for a in sys.argv[1:]))

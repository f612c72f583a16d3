"""Folding, forgetting and opening again change what history costs, never what it says.

A random history runs in a database that is folded at random places, in the background or at once, closed and opened
again, and allowed to forget.  The state at every instant and the changes between any two are the recompute's; where
they are older than what is kept they may be refused, and nothing else.

History that is loaded is the history it was: a database that got it as one batch says the same as one that lived it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tests.laws import oracle
from tests.laws.generate import Case, case, instant
from tests.laws.grouped_views import grouped_case
from tests.laws.history import Transaction
from tests.laws.schema import arrow, quote
from tests.laws.seeds import chunks
from tidings import Database, ManualClock
from tidings.errors import HistoryGone
from tidings.store.fold import FoldPolicy


class Life:
    """A database that is folded and opened again while its history goes on."""

    def __init__(self, rng: Random, path: Path | None, kept: int | None, **options: Any) -> None:
        self.rng, self.path, self.kept = rng, path, kept
        self.clock = ManualClock()
        self.options = options
        self.db = self._open()

    def _open(self) -> Database:
        retention = None if self.kept is None else timedelta(microseconds=self.kept)
        db = tidings.open(self.path, clock=self.clock, retention=retention, **self.options)
        rows, entries = self.rng.choice([0, 2, 5, 1000]), self.rng.choice([1, 2, 8])
        db._parts.folding.policy = FoldPolicy(rows, 0.0, retention=self.kept, entries=entries)
        return db

    def happen(self) -> None:
        """Something that must not matter."""
        match self.rng.randrange(6):
            case 0:
                self.db.fold()
            case 1 if self.path is not None:
                self.db.close()
                self.db = self._open()
            case 2:
                self.db._parts.folding._settle()
            case 3:
                self.db.advance()
            case 4:
                self.db.vacuum(timedelta(0))
            case _:
                pass


def commit(db: Database, changes: Transaction) -> None:
    with db.transaction() as tx:
        for change in changes:
            tx.delete(change.table, change.removed)
            tx.insert(change.table, change.added)


def live(it: Case, answers: oracle.Answers, path: Path | None, **options: Any) -> int:
    """How many questions were refused."""
    rng = Random(it.seed)
    kept = rng.choice([None, instant(1), instant(3)])
    life = Life(rng, path, kept, **options)
    made = rng.randint(0, max(0, len(it.history) - 1))
    try:
        for table in it.tables:
            life.db.sql(table.definition)
            if table.name in it.base:
                life.db.load(table.name, arrow(table, it.base[table.name]))
        for below in it.views[:-1]:
            life.db.sql(below.definition)
        for number in range(len(it.history) + 1):
            if number:
                life.clock.set(instant(number))
                commit(life.db, it.history[number - 1])
            if number == made:
                life.db.sql(it.views[-1].definition.replace("CREATE VIEW", "CREATE MATERIALIZED VIEW", 1))
            life.happen()
        assert not life.db._parts.folding.failures, it
        return look(it, answers, life)
    finally:
        life.db.close()


def look(it: Case, answers: oracle.Answers, life: Life) -> int:
    """Ask for the state at every instant, and for the changes between some."""
    refused, end = 0, instant(len(it.history))
    horizon = 0 if life.kept is None else end - life.kept
    for number in range(len(it.history) + 1):
        at = instant(number) + life.rng.choice([0, 4]) * (number < len(it.history))
        try:
            got = oracle.bag(life.db.query(quote_as_query(it.view), as_of=at).to_arrow())
        except HistoryGone:
            assert at < horizon, f"{it}\n{at} is kept"
            refused += 1
        else:
            assert got == answers.states[number], f"{it}\n{it.view} at {at}"
        until = instant(life.rng.randint(number, len(it.history)))
        try:
            told = oracle.changes(life.db.changes(it.view, at, max(at, until), per_commit=True).to_arrow())
        except HistoryGone:
            assert at < horizon, f"{it}\nchanges since {at} are kept"
            refused += 1
        else:
            oracle.assert_same(it, f"{it.view} from {at} to {until}", told, answers.between(at, until))
    for table in it.tables:
        got = oracle.bag(life.db.query(quote_as_query(table.name)).to_arrow())
        want = oracle.bag(arrow(table, it.states[-1][table.name]))
        assert got == want, f"{it}\n{table.name}"
    return refused


def quote_as_query(name: str) -> str:
    return f"SELECT * FROM {quote(name)}"


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"{n}.tidings" for n in count())


@pytest.mark.parametrize("seeds", chunks(30, quick=5, size=5))
def test_in_a_folder(seeds: range, folders: Iterator[Path]) -> None:
    refused = 0
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else case(seed)
        refused += live(it, oracle.recompute_on_duckdb(it)[it.view], next(folders), engine="duckdb")
    assert refused, "nothing was ever forgotten"


@pytest.mark.parametrize("seeds", chunks(12, quick=0, size=6))
def test_with_a_catalog_in_postgresql(seeds: range, postgresql: Callable[[], str], folders: Iterator[Path]) -> None:
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else case(seed)
        answers = oracle.recompute_on_duckdb(it)[it.view]
        live(it, answers, next(folders), engine="duckdb", catalog=postgresql())


@pytest.mark.parametrize("seeds", chunks(30, quick=2, size=5))
def test_in_memory(seeds: range) -> None:
    for seed in seeds:
        it = grouped_case(seed) if seed % 2 else case(seed)
        live(it, oracle.recompute_on_duckdb(it)[it.view], None, engine="duckdb")


@pytest.mark.spark
@pytest.mark.parametrize("seeds", chunks(4, quick=1, size=1))
def test_on_spark(seeds: range, spark: Any, folders: Iterator[Path]) -> None:
    for seed in seeds:
        it = grouped_case(seed)
        live(it, oracle.recompute_on_spark(it, spark), next(folders), engine="spark", spark=spark, execution="spark")


# history that is loaded

VIEWS = {
    "busy": "SELECT who, count(*) AS n, sum(v) AS total FROM events GROUP BY who HAVING count(*) > 1",
    "pairs": "SELECT a.who, a.v, b.v AS w FROM events a JOIN seen b ON a.who = b.who",
    "alone": "SELECT who, v FROM events e WHERE NOT EXISTS (SELECT * FROM seen s WHERE s.who = e.who)",
    "newest": "SELECT who, max(at) AS last FROM events GROUP BY who",
}


def described(db: Database) -> None:
    for name in ("events", "seen"):
        db.sql(f"CREATE TABLE {name} (who STRING, v INT, at TIMESTAMP) WITH (append_only, time = at)")
    for name, query in VIEWS.items():
        kind = "MATERIALIZED VIEW" if name in ("busy", "alone") else "VIEW"
        db.sql(f"CREATE {kind} {name} AS {query}")


def rows(rng: Random, start: int) -> list[tuple[str, int, int]]:
    """Rows of a stretch of time, several at one instant, some the same."""
    times = [start + rng.randint(1, 8) for _ in range(rng.randint(0, 12))]
    return [(rng.choice("abc"), rng.randint(1, 3), t) for t in times]


def as_arrow(given: list[tuple[str, int, int]], type: pa.DataType) -> pa.Table:
    who, v, at = zip(*given, strict=True) if given else ((), (), ())
    return pa.table({"who": pa.array(who, pa.string()), "v": pa.array(v, pa.int32()), "at": pa.array(at, type)})


def everything(db: Database, end: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for name in ("events", "seen", *VIEWS):
        found[name] = oracle.changes(db.changes(name, 0, end, per_commit=True).to_arrow())
        for at in range(0, end + 1, 3):
            found[name, at] = oracle.bag(db.query(name, as_of=at).to_arrow())
    return found


def load_what_was_lived(seed: int, path: Path | None, **options: Any) -> None:
    rng = Random(seed)
    parts = [{"events": rows(rng, start), "seen": rows(rng, start)} for start in (0, 10, 20)]
    clock = ManualClock()
    with tidings.open(engine="duckdb", clock=clock) as lived:
        described(lived)
        for time in range(1, 31):
            clock.set(time)
            at_once = {n: [r for p in parts for r in p[n] if r[2] == time] for n in ("events", "seen")}
            if any(at_once.values()):
                with lived.transaction() as tx:
                    for name, given in at_once.items():
                        tx.insert(name, as_arrow(given, pa.timestamp("us", tz="UTC")))
        want = everything(lived, 30)
    life = Life(rng, path, None, engine="duckdb", **options)
    life.clock.set(30)
    described(life.db)
    for part in parts:
        life.db.load({n: as_arrow(given, pa.timestamp("us", tz="UTC")) for n, given in part.items()})
        life.happen()
    got = everything(life.db, 30)
    life.db.close()
    assert got == want, f"seed {seed}: {[k for k in want if got[k] != want[k]]}"


@pytest.mark.parametrize("seeds", chunks(30, quick=3, size=3))
def test_loaded_history_is_history(seeds: range, folders: Iterator[Path]) -> None:
    for seed in seeds:
        load_what_was_lived(seed, next(folders) if seed % 2 else None)


@pytest.mark.parametrize("seeds", chunks(4, quick=0, size=2))
def test_loaded_history_with_a_catalog_in_postgresql(
    seeds: range, postgresql: Callable[[], str], folders: Iterator[Path]
) -> None:
    for seed in seeds:
        load_what_was_lived(seed, next(folders), catalog=postgresql())


@pytest.mark.spark
def test_loaded_history_on_spark(spark: Any, tmp_path: Path) -> None:
    rng = Random(7)
    parts = [{"events": rows(rng, start), "seen": rows(rng, start)} for start in (0, 10)]
    found = []
    for engine, options in (("duckdb", {}), ("spark", {"spark": spark})):
        life = Life(rng, tmp_path / engine, None, engine=engine, **options)
        life.clock.set(20)
        described(life.db)
        for part in parts:
            life.db.load({n: as_arrow(given, pa.timestamp("us", tz="UTC")) for n, given in part.items()})
            life.db.fold()
        told = {n: oracle.changes(life.db.changes(n, 0, 20, per_commit=True).to_arrow()) for n in VIEWS}
        found.append((told, {n: oracle.bag(life.db.query(n, as_of=12).to_arrow()) for n in VIEWS}))
        life.db.close()
    assert found[0] == found[1]

"""Serializable transactions that ran at the same time are as if each had run alone, at the instant of its commit.

Several transactions are open at once; their steps are interleaved at random, with folds and plain writes in between.
Each step asks something (rows by key, by a condition, sums, joins, views) or writes what depends on an answer.  Those
that were committed are done again one after the other, in the order of their commits, over plain dictionaries: every
answer has to be the same, and so have the rows in the end.  A transaction beside which nobody committed is not refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

import tidings
from tests.laws.seeds import chunks
from tidings import Database, Transaction
from tidings.errors import SerializationConflict

TABLES = ("a", "b")
KEYS = 6

Model = dict[str, dict[int, int]]
Answer = object
Step = Callable[["Run"], Answer]
"""Asks or writes, by SQL or over the model; what it was told."""


@dataclass(slots=True)
class Run:
    """One transaction, over a database or over a model."""

    tx: Transaction | None
    model: Model
    last: int = 0
    """A number that comes from what was read; writes use it."""


def scan(run: Run, table: str) -> dict[int, int]:
    if run.tx is None:
        return dict(run.model[table])
    return {row["k"]: row["v"] for row in run.tx.query(table).rows()}


def total(table: str, least: int) -> Step:
    """A sum over a condition: rows that come into it are phantoms."""

    def step(run: Run) -> Answer:
        if run.tx is None:
            run.last = sum(v for v in run.model[table].values() if v >= least)
        else:
            (row,) = run.tx.query(f"SELECT coalesce(sum(v), 0) AS s FROM {table} WHERE v >= {least}").rows()
            run.last = int(row["s"])
        return run.last

    return step


def through_view(view: str) -> Step:
    """The number of keys that both tables have, by a view that is stored or not."""

    def step(run: Run) -> Answer:
        if run.tx is None:
            run.last = len(run.model["a"].keys() & run.model["b"].keys())
        else:
            (row,) = run.tx.query(f"SELECT n FROM {view}").rows()
            run.last = int(row["n"])
        return run.last

    return step


def whole(table: str) -> Step:
    def step(run: Run) -> Answer:
        rows = scan(run, table)
        run.last = len(rows)
        return sorted(rows.items())

    return step


def put(table: str, key: int) -> Step:
    """Write what was read last under a key, which may be there or not."""

    def step(run: Run) -> Answer:
        value = run.last % 50 + 1
        if run.tx is None:
            run.model[table][key] = value
        else:
            run.tx.upsert(table, [(key, value)])
        return None

    return step


def add(table: str, key: int) -> Step:
    """Add to the row of a key, if it is there."""

    def step(run: Run) -> Answer:
        if run.tx is None:
            if key in run.model[table]:
                run.model[table][key] = run.model[table][key] % 50 + 1
                return 1
            return 0
        affected = run.tx.sql(f"UPDATE {table} SET v = v % 50 + 1 WHERE k = {key}")
        assert affected is not None
        return affected.rows()[0]["updated"]

    return step


def cut(table: str, least: int) -> Step:
    """Remove the rows of a condition."""

    def step(run: Run) -> Answer:
        if run.tx is None:
            gone = [k for k, v in run.model[table].items() if v >= least]
            for key in gone:
                del run.model[table][key]
            return len(gone)
        affected = run.tx.sql(f"DELETE FROM {table} WHERE v >= {least}")
        assert affected is not None
        return affected.rows()[0]["deleted"]

    return step


def random_step(rng: Random) -> Step:
    table, key, least = rng.choice(TABLES), rng.randrange(KEYS), rng.randrange(60)
    steps = [total(table, least), whole(table), through_view(rng.choice(["shared", "stored"])), put(table, key)]
    steps += [add(table, key), cut(table, 40 + least), put(table, key)]
    return rng.choice(steps)


@dataclass(slots=True)
class Open:
    """A transaction that is open: its steps, how far it is, and what it was told."""

    run: Run
    steps: list[Step]
    commits_before: int
    told: list[Answer] = field(default_factory=list)


@contextmanager
def database(rng: Random) -> Iterator[Database]:
    with tidings.open(engine="duckdb", execution="auto" if rng.random() < 0.5 else None) as db:
        db.sql("""
            CREATE TABLE a (k INT PRIMARY KEY, v INT); CREATE TABLE b (k INT PRIMARY KEY, v INT);
            INSERT INTO a VALUES (0, 5), (1, 30); INSERT INTO b VALUES (1, 20), (2, 45);
            CREATE VIEW shared AS SELECT count(*) AS n FROM a JOIN b ON a.k = b.k;
            CREATE MATERIALIZED VIEW stored AS SELECT count(*) AS n FROM a JOIN b ON a.k = b.k;
        """)
        yield db


def check(seed: int) -> tuple[int, int]:
    """One history; how many transactions were committed, and how many were refused."""
    rng = Random(seed)
    with database(rng) as db:
        committed: list[Open] = []
        refused = begun = 0
        running: list[Open] = []
        while begun < 12 or running:
            if begun < 12 and len(running) < 3 and rng.random() < 0.5:
                steps = [random_step(rng) for _ in range(rng.randint(1, 4))]
                running.append(Open(Run(db.transaction(isolation="serializable"), {}), steps, len(committed)))
                begun += 1
            if rng.random() < 0.05:
                db.fold()
            if not running:
                continue
            each = rng.choice(running)
            assert each.run.tx is not None
            try:
                if len(each.told) < len(each.steps):
                    each.told.append(each.steps[len(each.told)](each.run))
                    continue
                running.remove(each)
                each.run.tx.commit()
                committed.append(each)
            except SerializationConflict:
                refused += 1
                if each in running:  # what it asked showed that others had been there
                    running.remove(each)
                    each.run.tx.rollback()
                assert each.commits_before < len(committed), f"seed {seed}: refused, though nobody else committed"
        model: Model = {"a": {0: 5, 1: 30}, "b": {1: 20, 2: 45}}
        for number, each in enumerate(committed):
            alone = Run(None, model)
            told = [step(alone) for step in each.steps]
            assert told == each.told, f"seed {seed}: transaction {number} was told {each.told}, alone it is {told}"
        for table in TABLES:
            rows = {row["k"]: row["v"] for row in db.query(table).rows()}
            assert rows == model[table], f"seed {seed}: {table}"
    return len(committed), refused


@pytest.mark.parametrize("seeds", chunks(200, quick=10, size=10))
def test_every_history_is_as_if_one_after_the_other(seeds: range) -> None:
    counts = [check(seed) for seed in seeds]
    assert sum(committed for committed, _ in counts) > 0
    if len(seeds) >= 10:
        assert sum(refused for _, refused in counts) > 0

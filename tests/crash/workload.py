"""A random life of a database: definitions, transactions, waves, folds, all told beforehand.

The same seed always gives the same steps, so that whoever looks at the folder after a crash knows what must be there.
Every transaction inserts its own number into ``done``; how far a life came is the greatest number in there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import tidings

Row = tuple[int, int | None]

DEFINITIONS = (
    "CREATE TABLE done (n BIGINT)",
    "CREATE TABLE t (k INT, x INT)",
    "CREATE TABLE u (k INT, y INT)",
    "CREATE VIEW joined AS SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k",
    "CREATE MATERIALIZED VIEW totals AS SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k",
    "CREATE MATERIALIZED VIEW lonely AS SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
)
VIEWS = ("joined", "totals", "lonely")
EXTRA = "CREATE MATERIALIZED VIEW IF NOT EXISTS extra AS SELECT DISTINCT x FROM t"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done: a transaction's changes, or something that changes no answer."""

    kind: str
    changes: tuple[tuple[str, Row, int], ...] = ()
    big: int = 0
    """How many more rows it inserts, so many that its log entry is a file."""


def steps(seed: int, length: int = 14) -> list[Step]:
    """What happens after the definitions."""
    rng = Random(seed)
    held: dict[str, list[Row]] = {"t": [], "u": []}
    out = []
    for _ in range(length):
        kind = rng.choice(["commit"] * 4 + "advance fold vacuum view drop reopen replace subscribe".split())
        if kind != "commit":
            out.append(Step(kind))
            continue
        changes = []
        for _ in range(rng.randint(1, 4)):
            table = rng.choice("tu")
            if held[table] and rng.random() < 0.4:
                changes.append((table, held[table].pop(rng.randrange(len(held[table]))), -1))
            else:
                row = (rng.randint(0, 3), rng.choice([None, 1, 2, 5]))
                held[table].append(row)
                changes.append((table, row, 1))
        out.append(Step("commit", tuple(changes), rng.choice([0, 0, 0, 8_000])))
    return out


def live(folder: Path, seed: int, acknowledged: Path, catalog: str | None = None) -> None:
    """Live through a seed's steps, telling a file of each transaction once it is committed."""
    clock = tidings.ManualClock(1)
    db = opened(folder, clock, catalog)
    with acknowledged.open("a") as told:
        for definition in DEFINITIONS:
            db.sql(definition)
        list(db.subscribe("totals", name="follower"))
        for number, step in enumerate(steps(seed), 1):
            clock.set(number * 100)
            match step.kind:
                case "commit":
                    commit(db, step, number)
                    told.write(f"{number}\n")
                    told.flush()
                case "advance":
                    db.advance()
                case "fold":
                    db.fold()
                case "view":
                    db.sql(EXTRA)
                case "drop":
                    db.sql(f"{EXTRA}; DROP VIEW extra")
                case "replace":
                    query = f"SELECT x FROM t WHERE k > {number % 4}"
                    db.sql(f"{EXTRA}; CREATE OR REPLACE MATERIALIZED VIEW extra AS {query}")
                case "subscribe":
                    list(db.subscribe("totals", name="follower"))
                case "vacuum":
                    db.vacuum(timedelta(0))
                case "reopen":
                    db.close()
                    db = opened(folder, clock, catalog)
    db.close()


def opened(folder: Path, clock: tidings.ManualClock, catalog: str | None) -> tidings.Database:
    """A database that keeps the changes of the last few steps, and folds large commits in the background."""
    kept = timedelta(microseconds=300)
    db = tidings.open(folder, engine="duckdb", clock=clock, catalog=catalog, retention=kept)
    db._folding.policy = replace(db._folding.policy, rows=5_000)
    db._storage.many = 2
    return db


def commit(db: tidings.Database, step: Step, number: int) -> None:
    with db.transaction() as tx:
        tx.insert("done", [(number,)])
        for table, row, sign in step.changes:
            (tx.insert if sign > 0 else tx.delete)(table, [row])
        if step.big:
            tx.insert("u", [(100 + n % 50, n) for n in range(step.big)])


def expected(seed: int, upto: int) -> dict[str, Counter[Row]]:
    """The tables after all transactions up to a number."""
    found: dict[str, Counter[Row]] = {"t": Counter(), "u": Counter()}
    for number, step in enumerate(steps(seed), 1):
        if number > upto or step.kind != "commit":
            continue
        for table, row, sign in step.changes:
            found[table][row] += sign
        found["u"].update((100 + n % 50, n) for n in range(step.big))
    return {name: Counter({row: n for row, n in rows.items() if n}) for name, rows in found.items()}


def bag(db: tidings.Database, text: str, as_of: int | None = None) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r.values()) for r in db.query(text, as_of=as_of).rows())

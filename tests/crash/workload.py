"""A random life of a database: definitions, transactions, waves, folds, all told beforehand.

The same seed always gives the same steps, so that whoever looks at the folder after a crash knows what must be there.
Every transaction inserts its own number into ``done``; how far a life came is the greatest number in there.  Two more
tables are altered on the way: ``w`` gets columns, loses one and gets other names for them, and ``r0`` gets other names
itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import tidings
from tidings.errors import MustRefetch

Row = tuple[int, int | None]

DEFINITIONS = (
    "CREATE TABLE done (n BIGINT)",
    "CREATE TABLE t (k INT, x INT)",
    "CREATE TABLE u (k INT, y INT)",
    "CREATE TABLE w (k INT, x INT, y INT)",
    "CREATE TABLE r0 (n BIGINT)",
    "CREATE VIEW joined AS SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k",
    "CREATE MATERIALIZED VIEW totals AS SELECT k, count(*) AS n, sum(x) AS s FROM t GROUP BY k",
    "CREATE MATERIALIZED VIEW lonely AS SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "CREATE MATERIALIZED VIEW counted AS SELECT k, count(*) AS n FROM w GROUP BY k",
)
VIEWS = ("joined", "totals", "lonely", "counted")
EXTRA = "CREATE MATERIALIZED VIEW IF NOT EXISTS extra AS SELECT DISTINCT x FROM t"
BRIEF = """
CREATE TABLE IF NOT EXISTS brief (x INT);
CREATE MATERIALIZED VIEW IF NOT EXISTS briefly AS SELECT x FROM brief;
INSERT INTO brief VALUES (1);
DROP TABLE brief CASCADE
"""

OFTEN = ("commit", "commit", "commit", "commit", "fold", "vacuum")
ONCE = tuple("advance backup fold vacuum view drop drop_table reopen replace redefine subscribe".split())
ALTERATIONS = ("add_column", "rename_column", "drop_column", "rename_table")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done: a transaction's changes, or something that changes no answer."""

    kind: str
    changes: tuple[tuple[str, Row, int], ...] = ()
    big: int = 0
    """How many more rows it inserts, so many that its log entry is a file."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What alterations have made of two tables."""

    columns: tuple[str, ...] = ("k", "x", "y")
    """Those of ``w``."""
    defaults: tuple[int | None, ...] = (None, None)
    """What all rows of ``w`` have after their first column."""
    name: str = "r0"

    def altered(self, kind: str, number: int) -> Shape:
        """As a step of some kind and number makes it."""
        match kind:
            case "add_column":
                return replace(self, columns=(*self.columns, f"c{number}"), defaults=(*self.defaults, number))
            case "rename_column":
                return replace(self, columns=(*self.columns[:-1], f"c{number}"))
            case "drop_column":
                return replace(self, columns=("k", *self.columns[2:]), defaults=self.defaults[1:])
            case "rename_table":
                return replace(self, name=f"r{number}")
            case _:
                return self


def shape(seed: int, upto: int) -> Shape:
    """The altered tables after all steps up to a number."""
    found = Shape()
    for number, step in enumerate(steps(seed)[:upto], 1):
        found = found.altered(step.kind, number)
    return found


def steps(seed: int) -> list[Step]:
    """What happens after the definitions: everything once, and some of it more often."""
    rng = Random(seed)
    held: dict[str, list[Row]] = {"t": [], "u": []}
    kinds = [*ONCE, *ALTERATIONS, *rng.choices(OFTEN, k=8), "commit"]
    rng.shuffle(kinds)
    out = []
    for kind in kinds:
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
    """Live through a seed's steps, telling a file of each once it is done."""
    clock = tidings.ManualClock(1)
    db = opened(folder, clock, catalog)
    with acknowledged.open("a") as told:
        for definition in DEFINITIONS:
            db.sql(definition)
        list(db.subscribe("totals", name="follower"))
        print(0, file=told, flush=True)
        for number, step in enumerate(steps(seed), 1):
            clock.set(number * 100)
            now = shape(seed, number - 1)
            match step.kind:
                case "commit":
                    commit(db, step, number, now)
                case "advance":
                    db.advance()
                case "backup":
                    tidings.restore(db.backup(f"{folder}.backup").path, f"{folder}.restored")
                case "fold":
                    db.fold()
                case "view":
                    db.sql(EXTRA)
                case "drop":
                    db.sql(f"{EXTRA}; DROP VIEW extra")
                case "replace":
                    query = f"SELECT x FROM t WHERE k > {number % 4}"
                    db.sql(f"{EXTRA}; CREATE OR REPLACE MATERIALIZED VIEW extra AS {query}")
                case "redefine":
                    query = f"SELECT x FROM t WHERE k > {number}"
                    for rest in ("", " WITH (refresh = 'manual')"):
                        db.sql(f"{EXTRA}; CREATE OR REPLACE MATERIALIZED VIEW extra{rest} AS {query}")
                case "drop_table":
                    db.sql(BRIEF)
                case "add_column":
                    db.sql(f"ALTER TABLE w ADD COLUMN c{number} INT DEFAULT {number}")
                case "rename_column":
                    db.sql(f"ALTER TABLE w RENAME COLUMN {now.columns[-1]} TO c{number}")
                case "drop_column":
                    db.sql(f"ALTER TABLE w DROP COLUMN {now.columns[1]}")
                case "rename_table":
                    db.sql(f"ALTER TABLE {now.name} RENAME TO r{number}")
                case "subscribe":
                    follow(db)
                case "vacuum":
                    db.vacuum(timedelta(0))
                case "reopen":
                    db.close()
                    db = opened(folder, clock, catalog)
            print(number, file=told, flush=True)
    db.close()


def follow(db: tidings.Database) -> None:
    """Follow the changes of a view; one who is too late for them begins anew."""
    try:
        list(db.subscribe("totals", name="follower"))
    except MustRefetch:
        db.unsubscribe("follower")
        list(db.subscribe("totals", name="follower"))


def opened(folder: Path, clock: tidings.ManualClock, catalog: str | None) -> tidings.Database:
    """A database that keeps the changes of the last few steps, and folds large commits in the background."""
    kept = timedelta(microseconds=300)
    db = tidings.open(folder, engine="duckdb", clock=clock, catalog=catalog, retention=kept)
    db._parts.folding.policy = replace(db._parts.folding.policy, rows=5_000, entries=2)
    return db


def commit(db: tidings.Database, step: Step, number: int, now: Shape) -> None:
    with db.transaction() as tx:
        tx.insert("done", [(number,)])
        tx.insert("w", [{"k": number % 3}])
        tx.insert(now.name, [(number,)])
        for table, row, sign in step.changes:
            (tx.insert if sign > 0 else tx.delete)(table, [row])
        if step.big:
            tx.insert("u", [(100 + n % 50, n) for n in range(step.big)])


def expected(seed: int, upto: int, now: Shape) -> dict[str, Counter[tuple[int | None, ...]]]:
    """The tables after all transactions up to a number."""
    found: dict[str, Counter[tuple[int | None, ...]]] = {name: Counter() for name in ("t", "u", "w", now.name)}
    for number, step in enumerate(steps(seed), 1):
        if number > upto or step.kind != "commit":
            continue
        for table, row, sign in step.changes:
            found[table][row] += sign
        found["w"][number % 3, *now.defaults] += 1
        found[now.name][(number,)] += 1
        found["u"].update((100 + n % 50, n) for n in range(step.big))
    return {name: Counter({row: n for row, n in rows.items() if n}) for name, rows in found.items()}


def bag(db: tidings.Database, text: str, as_of: int | None = None) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r.values()) for r in db.query(text, as_of=as_of).rows())

"""A random life of a whole database against a plain one.

Definitions, statements, transactions that commit, roll back or break a rule, waves, folds and reopenings, step by step;
after each, every table and view says what a plain DuckDB says that ran the same statements, earlier states are as they
were, and the changes between two instants are the difference of the states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import tidings
from tests.laws.oracle import translated
from tests.laws.seeds import chunks
from tidings.errors import TidingsError

Bag = Counter[tuple[Any, ...]]

VIEWS = (
    "SELECT k, x FROM {a} WHERE x > 3",
    "SELECT x, count(*) AS n, sum(k) AS s FROM {a} GROUP BY x",
    "SELECT p.k, p.x, q.x AS y FROM {a} p JOIN {b} q ON p.k = q.k",
    "SELECT k FROM {a} p WHERE NOT EXISTS (SELECT 1 FROM {b} q WHERE q.k = p.k)",
    "SELECT p.k, q.x FROM {a} p LEFT JOIN {b} q ON p.k = q.k",
    "SELECT DISTINCT x FROM {a}",
)


@dataclass(slots=True)
class Life:
    """A database, a plain one beside it, and what was seen at earlier instants."""

    rng: Random
    folder: Path | None
    catalog: str | None = None
    plain: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    clock: tidings.ManualClock = field(default_factory=lambda: tidings.ManualClock(1))
    keyed: dict[str, bool] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[int, dict[str, Bag]]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    made: int = 0
    db: tidings.Database = field(init=False)

    def __post_init__(self) -> None:
        self.db = self.opened()

    def opened(self) -> tidings.Database:
        return tidings.open(self.folder, engine="duckdb", clock=self.clock, catalog=self.catalog)

    def step(self) -> None:
        """Do something, mostly a change."""
        self.clock.set(self.clock.now() + self.rng.randint(1, 50))
        choices: list[Callable[[], object]] = [self.create]
        if self.keyed:
            choices = [*[self.write] * 8, *[self.several] * 3, self.broken, self.rolled_back]
            choices += [self.create, self.view, self.view, self.drop, self.db.advance, self.add_column, self.reopen]
            choices += [self.db.fold, self.rename] if self.folder is not None else []
        chosen = self.rng.choice(choices)
        self.told.append(getattr(chosen, "__name__", "?"))
        chosen()
        if self.rng.random() < 0.5:
            self.check()

    # definitions

    def create(self) -> None:
        if len(self.keyed) > 3:
            return
        self.made += 1
        name, keyed = f"t{self.made}", self.rng.random() < 0.5
        self.run(f"CREATE TABLE {name} (k INT{' PRIMARY KEY' if keyed else ''}, x INT, CHECK (x < 100))", plain=False)
        self.plain.execute(f"CREATE TABLE {name} (k INT, x INT)")
        self.keyed[name] = keyed

    def view(self) -> None:
        if len(self.views) > 4:
            return
        self.made += 1
        kind, name = self.rng.choice(["VIEW", "MATERIALIZED VIEW"]), f"v{self.made}"
        query = self.rng.choice(VIEWS).format(a=self.table(), b=self.table())
        self.run(f"CREATE {kind} {name} AS {query}", plain=False)
        self.views[name] = query

    def drop(self) -> None:
        if self.views and self.rng.random() < 0.7:
            name = self.rng.choice(list(self.views))
            self.run(f"DROP VIEW {name}", plain=False)
            del self.views[name]
            return
        name = self.table()
        readers = [v for v, q in self.views.items() if f" {name} " in f"{q} "]
        if readers:
            with pytest.raises(TidingsError):
                self.db.sql(f"DROP TABLE {name}")
            return
        self.run(f"DROP TABLE {name}")
        del self.keyed[name]
        self.seen.clear()

    def add_column(self) -> None:
        self.made += 1
        name = self.table()
        self.run(f"ALTER TABLE {name} ADD COLUMN c{self.made} INT DEFAULT {self.made}", plain=False)
        self.plain.execute(f"ALTER TABLE {name} ADD COLUMN c{self.made} INT DEFAULT {self.made}")
        self.seen.clear()

    def rename(self) -> None:
        name = self.table()
        if any(f" {name} " in f"{q} " for q in self.views.values()):
            return
        self.made += 1
        self.run(f"ALTER TABLE {name} RENAME TO t{self.made}")
        self.keyed[f"t{self.made}"] = self.keyed.pop(name)
        self.seen.clear()

    # changes

    def write(self) -> None:
        self.run(self.statement(self.table()))

    def statement(self, table: str) -> str:
        """A statement that breaks no rule."""
        k, x = self.rng.randint(0, 9), self.rng.choice(["NULL", "1", "4", "7"])
        if self.keyed[table]:
            insert = (
                f"INSERT INTO {table} (k, x) SELECT {k}, {x} WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE k = {k})"
            )
        else:
            insert = f"INSERT INTO {table} (k, x) VALUES ({k}, {x}), (NULL, {x}), ({k}, {x})"
        return self.rng.choice(
            [
                insert,
                insert,
                f"UPDATE {table} SET x = COALESCE(x, 0) + 1 WHERE k = {k}",
                f"UPDATE {table} SET x = {x} WHERE k IN ({k}, {(k + 3) % 10})",
                f"DELETE FROM {table} WHERE k = {k}",
                f"DELETE FROM {table} WHERE x IS NULL",
                f"UPDATE {table} SET x = x WHERE k > {k}",
            ]
        )

    def several(self) -> None:
        """Several statements in one transaction, each seeing those before it."""
        texts = [self.statement(self.table()) for _ in range(self.rng.randint(2, 4))]
        with self.db.transaction() as tx:
            for text in texts:
                tx.sql(text)
                self.plain.execute(translated(text))

    def rolled_back(self) -> None:
        tx = self.db.transaction()
        tx.sql(self.statement(self.table()))
        tx.rollback()

    def broken(self) -> None:
        """A transaction whose last row breaks a rule: nothing of it may remain."""
        tx = self.db.transaction()
        tx.sql(self.statement(self.table()))
        tx.sql(f"INSERT INTO {self.table()} (k, x) VALUES (77, 1), (78, 100)")
        with pytest.raises(TidingsError):
            tx.commit()

    # what must be so

    def reopen(self) -> None:
        if self.folder is not None:
            self.db.close()
            self.db = self.opened()

    def check(self) -> None:
        now = {name: self.plain_bag(f"SELECT * FROM {name}") for name in self.keyed}
        now |= {name: self.plain_bag(query) for name, query in self.views.items()}
        for name, rows in now.items():
            assert self.bag(name) == rows, f"{self}\n{name}"
        for at, then in self.rng.sample(self.seen, k=min(2, len(self.seen))):
            for name in then.keys() & now.keys():
                self.check_past(name, at, then[name], now[name])
        self.seen.append((max(self.db.time, 1), now))

    def check_past(self, name: str, at: int, then: Bag, now: Bag) -> None:
        assert self.bag(name, at) == then, f"{self}\n{name} as of {at}"
        moved = Counter(then)
        for change in self.db.changes(name, since=at, per_commit=True).rows():
            moved[tuple(change.row.values())] += change.weight
        assert Counter({r: n for r, n in moved.items() if n}) == now, f"{self}\nchanges of {name} since {at}"

    def bag(self, name: str, as_of: int | None = None) -> Bag:
        return Counter(tuple(r.values()) for r in self.db.query(name, as_of=as_of).rows())

    def plain_bag(self, query: str) -> Bag:
        return Counter(self.plain.execute(translated(query)).fetchall())

    def table(self) -> str:
        return self.rng.choice(list(self.keyed))

    def run(self, text: str, *, plain: bool = True) -> None:
        self.told[-1] = text
        self.db.sql(text)
        if plain:
            self.plain.execute(translated(text))

    def __str__(self) -> str:
        return "\n".join(self.told)


@pytest.mark.parametrize("seeds", chunks(32, quick=2, size=2))
def test_a_database_in_a_folder_is_like_a_plain_one(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        live(Life(Random(seed), tmp_path / str(seed)))


@pytest.mark.parametrize("seeds", chunks(6, quick=0, size=2))
def test_a_database_with_its_catalog_in_postgresql_is_like_a_plain_one(
    seeds: range, postgresql: Callable[[], str], tmp_path: Path
) -> None:
    for seed in seeds:
        live(Life(Random(seed), tmp_path / str(seed), postgresql()))


@pytest.mark.parametrize("seeds", chunks(20, quick=2, size=2))
def test_a_database_in_memory_is_like_a_plain_one(seeds: range) -> None:
    for seed in seeds:
        live(Life(Random(seed), None))


def live(life: Life, steps: int = 40) -> None:
    try:
        for _ in range(steps):
            life.step()
        life.check()
    finally:
        life.db.close()
        life.plain.close()
